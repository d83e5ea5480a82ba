"""Erasing a person: nothing of them is left in any byte of the home, and nobody else loses anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agents_runtime.state import slug
from channels.message import Conversation
from gateway.attachments import Attachments
from gateway.erasing import erase_person
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Finish, RunRecord
from gateway.ledger.sqlite import open_sqlite
from gateway.settings import Settings
from tests.gateway.ledger.support import message, piece, session

GROUP = Conversation("shop", "club")
MINE, THEIRS = Conversation("shop", "4915550142"), Conversation("shop", "4915550999")


async def _talk(ledger: Ledger, number: int, where: Conversation, person: str, words: str) -> None:
    scope = "group" if where == GROUP else "dm"
    said = replace(message(number, where, sender=person, text=words, scope=scope), raw={"text": words, "from": person})
    await ledger.accept([said])
    (turn,) = (await ledger.claim("w", 1)).turns
    run = RunRecord(f"r{number}", turn.id, where, "desk", "route", "m", "answered", 1, 1, 1, 0.0, 1.0, {"heard": words})
    history = f'["{words}"]'.encode()
    end = Finish(
        "answered", [piece(f"You said {words}", where)], session=session(f"s{number}", history, where), run=run
    )
    await ledger.finish(turn, end)


async def test_nothing_of_a_person_is_left_and_everything_of_others_is(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    async with open_sqlite(settings.ledger_path, worker=True) as ledger:
        await _talk(ledger, 1, MINE, "4915550142", "my-dear-secret")
        await _talk(ledger, 2, GROUP, "4915550142", "my-group-secret")
        await _talk(ledger, 3, THEIRS, "4915550999", "their-words")
        await _talk(ledger, 4, GROUP, "4915550999", "their-group-words")
        waiting = replace(message(5, MINE, sender="4915550142", text="my-waiting-secret"), raw={})
        await ledger.accept([waiting])
        await ledger.set_opted_out("shop", "4915550142", out=True)
        store = Attachments(settings.home)
        for where, name in ((MINE, "x-0.txt"), (THEIRS, "y-0.txt")):
            store.inbox(where).mkdir(parents=True)
            kept = store.path("ab" + name)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(f"file of {where.chat_id}")
            (store.inbox(where) / name).hardlink_to(kept)
        state = settings.agents_dir / "desk/state/conversations"
        for where in (MINE, THEIRS):
            folder = state / slug(where.connection_id, where.chat_id, where.thread_id)
            folder.mkdir(parents=True)
            (folder / "notes.json").write_text(f'"about {where.chat_id}"')

        report = await erase_person(settings, ledger, "shop", "4915550142")
        assert (report.messages, report.conversations, report.files, report.states) == (3, 1, 1, 1)
        assert await ledger.opted_out("shop", "4915550142")
        assert [m.message.text for m in await ledger.messages(THEIRS.key)] == ["their-words"]
        assert [m.message.text for m in await ledger.messages(GROUP.key)] == ["", "their-group-words"]
        assert len(await ledger.deliveries(THEIRS.key)) == 1
        assert await ledger.messages(MINE.key) == []
        again = await erase_person(settings, ledger, "shop", "4915550142")
        assert (again.messages, again.files) == (0, 0)
        assert (await ledger.depths()).waiting_messages == 0
        assert (await ledger.claim("w", 10)).turns == ()

        for path in tmp_path.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                assert b"-secret" not in data, path
                if not path.name.startswith("ledger.db"):
                    assert b"4915550142" not in data, path
        everything = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
        assert b"file of 4915550999" in everything
        assert b"about 4915550999" in everything
        rows = settings.ledger_path.read_bytes()
        assert rows.count(b"4915550142") == 1, "their opt-out alone still names them"
        assert await ledger.accept([waiting]) == ["duplicate"], "a provider's retry brings nothing back"
