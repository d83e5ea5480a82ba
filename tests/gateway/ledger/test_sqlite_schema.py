"""How the file's tables come to be, and that no query of the working day reads a whole table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from gateway.ledger import sql
from gateway.ledger.errors import LedgerInUse
from gateway.ledger.sql.schema import LedgerTooNew, Step
from gateway.ledger.sqlite import open_sqlite
from gateway.ledger.sqlite.lock import worker_lock
from gateway.ledger.sqlite.schema import connect, migrate, steps
from tests.gateway.ledger.support import CHAT, message, states

NEXT = Step(
    steps()[-1].version + 1,
    """
    -- a comment; with a semicolon
    ALTER TABLE messages ADD COLUMN note TEXT NOT NULL DEFAULT 'old; new';
    CREATE TRIGGER noted AFTER INSERT ON messages
    BEGIN
        UPDATE messages SET note = 'noted' WHERE seq = new.seq;
        UPDATE config SET version = version + 1;
    END;
    """,
)
BROKEN = Step(NEXT.version + 1, "CREATE TABLE half (n INTEGER);\nCREATE TABLE messages (n INTEGER);")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path, writable=True)) as db:
        yield db


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


class TestMigrations:
    def test_they_are_numbered_without_a_gap(self) -> None:
        assert [step.version for step in steps()] == list(range(1, len(steps()) + 1))

    async def test_a_file_of_an_older_version_keeps_what_it_holds(self, path: Path, db: sqlite3.Connection) -> None:
        async with open_sqlite(path, worker=True) as ledger:
            await ledger.accept([message(1)])
        migrate(db, nullcontext, [*steps(), NEXT])
        assert version(db) == NEXT.version
        assert db.execute("SELECT note FROM messages").fetchall() == [("old; new",)]
        migrate(db, nullcontext, [*steps(), NEXT])

    async def test_a_step_that_fails_leaves_the_version_before_it(self, path: Path, db: sqlite3.Connection) -> None:
        async with open_sqlite(path, worker=True) as ledger:
            await ledger.accept([message(1)])
        with pytest.raises(sqlite3.OperationalError):
            migrate(db, nullcontext, [*steps(), NEXT, BROKEN])
        assert version(db) == NEXT.version
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)

    async def test_a_file_of_a_newer_version_is_left_alone(self, path: Path, db: sqlite3.Connection) -> None:
        migrate(db, nullcontext, [*steps(), NEXT])
        with pytest.raises(LedgerTooNew) as error:
            await open_sqlite(path, worker=True).__aenter__()
        assert error.value.fix
        assert version(db) == NEXT.version

    def test_a_command_does_not_change_the_tables_of_a_running_worker(self, path: Path, db: sqlite3.Connection) -> None:
        migrate(db, nullcontext, steps())
        with worker_lock(path), pytest.raises(LedgerInUse):
            migrate(db, lambda: worker_lock(path), [*steps(), NEXT])
        assert version(db) == steps()[-1].version

    def test_who_comes_second_finds_the_work_done(self, path: Path, db: sqlite3.Connection) -> None:
        migrate(db, nullcontext, steps())

        @contextmanager
        def quicker() -> Iterator[None]:
            with closing(connect(path, writable=True)) as other:
                migrate(other, nullcontext, [*steps(), NEXT])
            yield

        migrate(db, quicker, [*steps(), NEXT])
        assert version(db) == NEXT.version

    async def test_a_command_can_be_the_first_to_open(self, path: Path) -> None:
        async with open_sqlite(path, worker=False) as beside:
            assert await beside.connections() == []
        async with open_sqlite(path, worker=True) as ledger:
            await ledger.accept([message(1)])
            assert await states(ledger, CHAT) == [("text 1", "waiting", "")]


MODULES = [import_module(f"{sql.__name__}.{each.name}") for each in iter_modules(sql.__path__)]
QUERIES = {
    f"{module.__name__.rsplit('.', 1)[1]}.{name}" + (f".{n}" if n else ""): sql
    for module in MODULES
    for name, value in vars(module).items()
    if name.startswith("_") and name.isupper()
    for n, sql in enumerate([value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [])
    if sql.lstrip().startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
}

READS_ALL = {
    "connections._ALL": ["SCAN connections"],
    "connections._NAMES": ["SCAN secrets"],
    "connections._ALL_SECRETS": ["SCAN secrets"],
    "routes._ALL": ["SCAN routes"],
    "routes._VERSION": ["SCAN config"],
    # rare enough
    "moves._REPOINT.1": ["SCAN turns"],
    # never run by itself: what the two below begin with
    "listings._SUMMARY": ["SCAN c"],
    # in the order of the key, up to a limit
    "approvals._NEWEST": ["SCAN approvals"],
    "people._AUDIT": ["SCAN audit"],
    # a row for each conversation that a person answers
    "people._TAKEN": ["SCAN takeovers"],
    # in the order of an index, up to a limit
    "listings._CONVERSATIONS": ["SCAN c USING INDEX conversations_by_last"],
    "routes._DEPLOYMENTS": ["SCAN deployments"],
    "letters._LETTERS": [
        "SCAN t USING INDEX turns_dead",
        "SCAN dead_turns",
        "USE TEMP B-TREE FOR ORDER BY",
        "SCAN d USING INDEX deliveries_dead",
        "SCAN dead_sends",
        "USE TEMP B-TREE FOR ORDER BY",
    ],
    # one connection's numbers, from indices alone, when a person asks
    "listings._ARRIVALS": ["USE TEMP B-TREE FOR ORDER BY"],
    # locks, taken on PostgreSQL only
    "connections._SERIAL": ["SCAN c"],
    "deliveries._LINES_SENDING": ["SCAN d USING INDEX deliveries_open"],
    "turns._LINES_HELD": ["SCAN t USING INDEX turns_open"],
    "pairings._DROP_OLD": ["SCAN pairings"],
    "pairings._COUNT": ["SCAN pairings"],
    "pairings._ALL": ["SCAN pairings"],
    "erase._PAIRINGS": ["SCAN pairings"],
    # ends at the first row that is young enough; sessions are few
    "prune._OLD_MESSAGES": ["SCAN messages"],
    "prune._OLD_DELIVERIES": ["SCAN deliveries"],
    "prune._OLD_RUNS": ["SCAN runs"],
    "prune._OLD_SESSIONS": ["SCAN sessions"],
    # a row for each gateway and each connection
    "holds._LET_GO": ["SCAN holds"],
    "holds._ALIVE": ["SCAN holds"],
    "holds._DEAD": ["SCAN holds"],
    "holds._RUNNING": ["SCAN turns USING INDEX turns_open"],
    "holds._SENDING": ["SCAN deliveries USING INDEX deliveries_open"],
    # an index that holds only what is open
    "deliveries._SENDING": ["SCAN deliveries USING INDEX deliveries_open"],
    "turns._VOID_LEASES": ["SCAN turns USING INDEX turns_open"],
    # when the clock was moved
    "shift._TURNS": ["SCAN turns USING INDEX turns_open"],
    "shift._MESSAGES": ["SCAN messages USING INDEX messages_waiting"],
    "shift._DELIVERIES": ["SCAN deliveries USING INDEX deliveries_open"],
    "shift._LINES": ["SCAN conversations"],
    "shift._SERVED": ["SCAN conversations"],
    "shift._PAIRINGS": ["SCAN pairings USING COVERING INDEX sqlite_autoindex_pairings_2"],
    # one row for each published agent; a person's erasure
    "shared._PUBLISHED": ["SCAN published"],
    "shared._DROP": ["SCAN states"],
    "shared._DROP_BUNDLES": ["SCAN bundles", "SCAN published"],
    "pulse._LIVING": ["SCAN holds", "USE TEMP B-TREE FOR ORDER BY"],
    "pulse._UNKNOWN": ["SCAN deliveries USING INDEX deliveries_dead"],
    "pulse._RECEIVED": ["USE TEMP B-TREE FOR GROUP BY"],
    "pulse._SENT": ["USE TEMP B-TREE FOR GROUP BY"],
    "listings._DEPTHS": [
        "SCAN CONSTANT ROW",
        "SCAN messages USING INDEX messages_waiting",
        "SCAN turns USING INDEX turns_open",
        "SCAN turns USING INDEX turns_open",
        "SCAN deliveries USING INDEX deliveries_open",
        "SCAN turns USING INDEX turns_dead",
        "SCAN deliveries USING INDEX deliveries_dead",
    ],
}
"""The queries that may read a table or an index from end to end, or sort, and what of them."""


class TestPlans:
    def test_the_queries_are_found(self) -> None:
        assert len(QUERIES) > 50
        assert READS_ALL.keys() <= QUERIES.keys()

    @pytest.mark.parametrize("name", QUERIES)
    def test_no_other_query_reads_or_sorts_a_whole_table(self, db: sqlite3.Connection, name: str) -> None:
        migrate(db, nullcontext, steps())
        sql = QUERIES[name]
        values = (
            {"line": 1, "limit": 1, "find": "", "owner": "", "before": 1, "all": 1, "by": 1, "now": 1}
            if ":" in sql
            else [1] * sql.count("?")
        )
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        costly = [step for step in plan if step.startswith("SCAN") or "TEMP B-TREE" in step]
        assert costly == READS_ALL.get(name, [])
