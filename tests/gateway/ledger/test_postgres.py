"""What is PostgreSQL's own: several gateways at once, a server that goes away, and tables of two versions."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
import structlog

from channels.adapter import Receipt
from channels.message import Conversation, StatusUpdate
from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.postgres import open_postgres
from gateway.ledger.postgres.schema import migrate, steps
from gateway.ledger.postgres.sessions import connect
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Delivery, Finish, Turn
from gateway.ledger.sql.schema import LedgerTooNew, Step
from tests.gateway.ledger.support import CHAT, claim_one, due_one, message, piece, said, states, statuses
from tests.support.postgres import Server, running_server


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    with postgres.schema() as url:
        yield url


class TestTogether:
    async def test_two_gateways_answer_everything_once_and_in_order(self, database: str) -> None:
        """Accepts with duplicates, claims, ends and sends on two gateways at once; each event counts once."""
        chats = [Conversation("shop", f"c{n}") for n in range(6)]
        numbers = list(range(150))
        answered: dict[str, list[int]] = {chat.key: [] for chat in chats}
        sent: dict[str, list[str]] = {chat.key: [] for chat in chats}
        new: Counter[int] = Counter()

        async def accept(ledger: Ledger) -> None:
            for start in range(0, len(numbers), 3):
                some = numbers[start : start + 3]
                results = await ledger.accept([message(n, chats[n % 6]) for n in random.sample(some, 3)])
                new.update({"new": results.count("new")})  # type: ignore[dict-item]

        async def answer(ledger: Ledger, turn: Turn) -> None:
            await ledger.finish(turn, Finish("answered", [piece(m.text, m.conversation) for m in turn.messages]))
            answered[turn.conversation.key] += [int(str(m.raw["n"])) for m in turn.messages]

        async def send(ledger: Ledger, delivery: Delivery) -> None:
            sent[delivery.conversation.key].append(said(delivery))
            ref = delivery.id
            await asyncio.gather(
                ledger.report("shop", StatusUpdate("delivery", "read", ref)),
                ledger.delivered(delivery, Receipt(ref)),
            )

        async def work(ledger: Ledger, owner: str) -> None:
            while sum(map(len, sent.values())) < len(numbers):
                turns = (await ledger.claim(owner, 3)).turns
                await asyncio.gather(*(answer(ledger, turn) for turn in turns))
                deliveries = (await ledger.due(owner, 10)).deliveries
                await asyncio.gather(*(send(ledger, delivery) for delivery in deliveries))
                if not turns and not deliveries:
                    await ledger.wait_for_turns(0.05)

        async with open_postgres(database, worker=True) as one, open_postgres(database, worker=True) as two:
            async with asyncio.timeout(60):
                await asyncio.gather(accept(one), accept(two), work(one, "a"), work(two, "b"))
            assert new["new"] == len(numbers)  # type: ignore[index]
            for chat in chats:
                stored = [m.message.raw["n"] for m in await one.messages(chat.key, 1000)]
                assert answered[chat.key] == stored
                assert sent[chat.key] == [f"text {n}" for n in stored]
                assert {status for _, status in await statuses(one, chat)} == {"read"}
            assert sorted(n for some in answered.values() for n in some) == numbers

    async def test_two_gateways_given_the_same_batches_never_wait_in_a_circle(self, database: str) -> None:
        """Batches in any order, over the same chats and senders, with twins in them, while leases are renewed."""
        chats = [Conversation("shop", f"c{n}") for n in range(5)]
        rounds = [
            [message(n * 10 + i, chats[i % 5], keys=(f"e{n}-{i}", f"t{n}-{i % 5}")) for i in range(10)]
            for n in range(30)
        ]

        async def accept(ledger: Ledger) -> None:
            for batch in rounds:
                await ledger.accept(random.sample(batch, len(batch)))

        async def turn_over(ledger: Ledger, owner: str) -> None:
            for _ in range(20):
                for turn in (await ledger.claim(owner, 5)).turns:
                    await ledger.release(await ledger.renew(turn))

        with structlog.testing.capture_logs() as logs:
            async with open_postgres(database, worker=True) as one, open_postgres(database, worker=True) as two:
                await asyncio.gather(accept(one), accept(two), turn_over(one, "a"), turn_over(two, "b"))
                stored = [len(await one.messages(chat.key, 1000)) for chat in chats]
        assert stored == [len(rounds)] * len(chats)
        assert "ledger_again" not in {entry["event"] for entry in logs}

    async def test_a_mention_that_comes_while_its_twin_is_being_ignored_is_not_lost(self, database: str) -> None:
        async with open_postgres(database, worker=True) as one, open_postgres(database, worker=True) as two:
            for n in range(20):
                chat = Conversation("shop", f"c{n}")
                await one.accept([message(n, chat, keys=(f"e{n}",))])
                turn = await claim_one(one)
                end = Finish("ignored", ignored={turn.messages[0].id: "mention_required"})
                twin = replace(message(n + 1000, chat, keys=(f"e{n}",), mentions=True))
                await asyncio.gather(one.finish(turn, end), two.accept([twin]))
                again = await claim_one(two)
                assert again.messages[0].mentions_bot
                await two.finish(again, Finish("answered"))

    async def test_one_gateways_word_wakes_the_other(self, database: str) -> None:
        async with open_postgres(database, worker=True) as one, open_postgres(database, worker=True) as two:
            await one.accept([message(0)])  # both listen once this went round
            await two.wait_for_turns(60)
            await two.finish(await claim_one(two), Finish("answered"))
            waiting = asyncio.create_task(two.wait_for_turns(60))
            await asyncio.sleep(0)
            await one.accept([message(1)])
            await asyncio.wait_for(waiting, 10)

    async def test_time_is_the_servers_whatever_the_clock_here_says(
        self, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = time.time()
        monkeypatch.setattr(time, "time", lambda: real - 86_400)
        async with open_postgres(database, worker=True) as ledger:
            await ledger.accept([message(1)])
            (line,) = await ledger.conversations()
        assert abs(line.last_at - real) < 60


class TestTrouble:
    async def test_a_server_that_stops_loses_nothing_that_was_acknowledged(self) -> None:
        with running_server() as server, server.schema() as url:
            async with open_postgres(url, worker=True) as ledger:
                await ledger.accept([message(1)])
                server.stop()
                with pytest.raises(LedgerUnavailable) as error:
                    await ledger.accept([message(2)])
                assert error.value.fix
                with pytest.raises(LedgerUnavailable):
                    await ledger.depths()
                server.start()
                assert await ledger.accept([message(1), message(2)]) == ["duplicate", "new"]
                assert [text for text, _, _ in await states(ledger)] == ["text 1", "text 2"]

    async def test_connections_that_the_server_left_while_idle_cost_no_write(self, database: str) -> None:
        async with open_postgres(database, worker=True) as ledger:
            begun = (ledger.accept([message(n, Conversation("shop", f"c{n}"))]) for n in range(20))
            await asyncio.gather(*begun, *(ledger.depths() for _ in range(8)))
            with psycopg.connect(database, autocommit=True) as db:
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid()"
                    " AND query NOT LIKE 'LISTEN%%' AND datname = current_database()"
                )
            again = (ledger.accept([message(n, Conversation("shop", f"c{n}"))]) for n in range(20))
            assert await asyncio.gather(*again) == [["duplicate"]] * 20
            assert (await ledger.depths()).waiting_messages == 20

    async def test_a_server_that_takes_no_writes_is_unavailable(self, database: str) -> None:
        standby = database.replace("options=", "options=-cdefault_transaction_read_only%3Don%20")
        with pytest.raises(LedgerUnavailable):
            await open_postgres(standby, worker=True).__aenter__()

    async def test_a_lock_that_somebody_keeps_does_not_stop_the_rest(self, database: str) -> None:
        other = Conversation("shop", "c2")
        async with open_postgres(database, worker=True) as ledger:
            await ledger.accept([message(1), message(2, other)])
            with psycopg.connect(database) as db:
                db.execute("SELECT 1 FROM conversations WHERE key = %s FOR UPDATE", (CHAT.key,))
                turn = await claim_one(ledger)
                assert turn.conversation == other
            assert (await claim_one(ledger)).conversation == CHAT

    async def test_text_that_postgresql_has_no_place_for_is_kept_in_another_form(self, database: str) -> None:
        async with open_postgres(database, worker=True) as ledger:
            await ledger.accept([message(1, keys=("a\x00b",), text="é\x00", sender="u\x00")])
            turn = await claim_one(ledger)
            assert turn.messages[0].text == "é\x00"
            await ledger.finish(turn, Finish("dead", [piece("x\x00y")], error="broke: \x00"))
            assert said(await due_one(ledger)) == "x\x00y"
            (letter,) = await ledger.dead_letters()
            assert letter.error == "broke: \ufffd"
            assert (await ledger.erase("shop", "u\x00")).messages == (turn.messages[0].id,)

    async def test_an_address_that_leads_nowhere_is_said_without_its_password(self) -> None:
        with pytest.raises(LedgerUnavailable) as error:
            await open_postgres("postgresql://postroom:hush-hush@127.0.0.1:1/x", worker=True).__aenter__()
        assert "hush-hush" not in f"{error.value} {error.value.fix}"


class TestTables:
    async def test_gateways_that_start_at_once_make_them_once(self, database: str) -> None:
        async def start(n: int) -> None:
            async with open_postgres(database, worker=True) as ledger:
                assert await ledger.accept([message(n)]) == ["new"]

        await asyncio.gather(*(start(n) for n in range(4)))

    def test_a_failing_step_leaves_everything_as_it_was(self, database: str) -> None:
        newest = steps()[-1].version
        broken = Step(newest + 1, "CREATE TABLE half (n INTEGER); CREATE TABLE messages (n INTEGER)")
        with connect(database) as db:
            migrate(db, steps())
            with pytest.raises(psycopg.errors.DuplicateTable):
                migrate(db, [*steps(), broken])
            assert db.execute("SELECT max(version) FROM postroom_schema").fetchone() == (newest,)
            assert db.execute("SELECT to_regclass('half')").fetchone() == (None,)

    async def test_a_version_works_beside_the_next_and_not_beside_a_later_one(self, database: str) -> None:
        newest = steps()[-1].version
        with connect(database) as db:
            migrate(db, [*steps(), Step(newest + 1, "ALTER TABLE messages ADD COLUMN note TEXT DEFAULT ''")])
        async with open_postgres(database, worker=True) as older:
            await older.accept([message(1)])
            await older.finish(await claim_one(older), Finish("answered"))
        with connect(database) as db:
            db.execute("INSERT INTO postroom_schema (version) VALUES (%s)", (newest + 2,))
        with pytest.raises(LedgerTooNew) as error:
            await open_postgres(database, worker=True).__aenter__()
        assert error.value.fix
