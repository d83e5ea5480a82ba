"""A ledger from one engine to the other and back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from channels.adapter import Receipt
from gateway.ledger import copying
from gateway.ledger.audit import Change
from gateway.ledger.copying import CopyRefused, database_to_embedded, embedded_to_database
from gateway.ledger.errors import LedgerInUse, LedgerUnavailable
from gateway.ledger.postgres import open_postgres
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Finish
from gateway.ledger.sqlite import open_sqlite
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Route
from tests.gateway.ledger.support import (
    CHAT,
    OTHER,
    claim_one,
    due_one,
    message,
    piece,
    run_record,
    session,
    states,
    statuses,
    texts,
)
from tests.support.postgres import Server


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    with postgres.schema() as url:
        yield url


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """An embedded ledger with something in every corner."""
    path = tmp_path / "ledger.db"
    async with open_sqlite(path, worker=True) as ledger:
        await ledger.put_connection(Connection("shop", "telegram", label="Sh\x00p"), {"token": b"\x00\xff"})
        await ledger.change_routes(lambda _c, _r: RouteChange((Route("r1", "shop", "front-desk"),), "deploy"))
        await ledger.accept([message(1, text="é\x00 and 🏁")])
        turn = await claim_one(ledger)
        await ledger.record(turn, "tool", "done")
        await ledger.finish(
            turn, Finish("answered", [piece("a"), piece("b")], session=session("s1"), run=run_record("run", turn))
        )
        await ledger.delivered(await due_one(ledger), Receipt("ref"))
        await ledger.accept([message(2), message(3, OTHER)])
        await ledger.set_opted_out("shop", "u9", True)
        await ledger.step_in(OTHER.key, "ann")
        await ledger.note(Change("ann", "took over", OTHER.key))
    return path


async def seen(ledger: Ledger) -> list[object]:
    return [
        await states(ledger),
        await statuses(ledger),
        await ledger.runs(CHAT.key),
        await ledger.session(CHAT, "front-desk"),
        await ledger.conversations(),
        await ledger.secrets("shop"),
        await ledger.routes(),
        await ledger.deployments(),
        await ledger.takeovers(),
        await ledger.audit(),
        await ledger.depths(),
        await ledger.opted_out("shop", "u9"),
        await ledger.config_version(),
    ]


async def test_everything_goes_over_and_the_work_goes_on(home: Path, database: str, tmp_path: Path) -> None:
    async with open_sqlite(home, worker=False) as embedded:
        before = await seen(embedded)
    counts = embedded_to_database(home, database)
    assert (counts["messages"], counts["seen"], counts["deliveries"]) == (3, 3, 2)
    async with open_postgres(database, worker=True) as ledger:
        assert await seen(ledger) == before
        assert await ledger.accept([message(1)]) == ["duplicate"]
        assert await ledger.accept([message(4)]) == ["new"]
        turns = (await ledger.claim("w1", 10)).turns
        assert [texts(turn) for turn in turns] == [["text 3"], ["text 2", "text 4"]]
        assert (await due_one(ledger)).call.params["text"] == "b"
    back = tmp_path / "back.db"
    database_to_embedded(database, back)
    async with open_sqlite(back, worker=True) as ledger:
        assert [turn.attempt for turn in (await ledger.claim("w1", 10)).turns] == [2, 2]


async def test_a_database_with_a_ledger_in_it_is_left_as_it_is(home: Path, database: str) -> None:
    embedded_to_database(home, database)
    async with open_postgres(database, worker=False) as ledger:
        before = await seen(ledger)
    with pytest.raises(CopyRefused) as refused:
        embedded_to_database(home, database)
    assert refused.value.fix
    async with open_postgres(database, worker=False) as ledger:
        assert await seen(ledger) == before


async def test_what_arrives_otherwise_is_not_kept(home: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(connection: psycopg.Connection) -> copying.Rows:
        return lambda sql: iter(connection.execute(copying.translated(sql)).fetchall()[:-1])

    monkeypatch.setattr(copying, "_server_rows", losing)
    with pytest.raises(CopyRefused, match="not what was sent"):
        embedded_to_database(home, database)
    monkeypatch.undo()
    assert embedded_to_database(home, database)["messages"] == 3


async def test_a_ledger_somebody_works_on_is_not_copied(home: Path, database: str) -> None:
    async with open_sqlite(home, worker=True):
        with pytest.raises(LedgerInUse):
            embedded_to_database(home, database)


async def test_a_database_that_is_not_there_is_said_without_its_password(home: Path) -> None:
    with pytest.raises(LedgerUnavailable) as refused:
        embedded_to_database(home, "postgresql://postroom:hush-hush@127.0.0.1:1/postroom")
    assert "hush-hush" not in f"{refused.value} {refused.value.fix}"
    with closing(sqlite3.connect(home)) as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (3,)
