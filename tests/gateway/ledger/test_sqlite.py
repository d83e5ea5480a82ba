"""What is SQLite's own: the file, the lock, the one writer, and a disk that is full."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from channels.message import Conversation
from gateway.ledger.errors import LedgerInUse, LedgerUnavailable, NotFound
from gateway.ledger.sql.ledger import NotTheWorker, SqlLedger
from gateway.ledger.sqlite import open_sqlite
from routes.change import RouteChange
from tests.gateway.ledger.support import CHAT, OTHER, Clock, claim, claim_one, due_one, message, piece, states


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "ledger.db"


@pytest.fixture
async def ledger(path: Path) -> AsyncIterator[SqlLedger]:
    async with open_sqlite(path, worker=True) as ledger:
        yield ledger


def write_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def database(ledger: SqlLedger) -> sqlite3.Connection:
    return ledger._writer._db


@contextmanager
def writer_held(ledger: SqlLedger) -> Iterator[None]:
    """Keep the writer busy, so that what is queued meanwhile is one batch."""
    begun, let_go = threading.Event(), threading.Event()

    def hold(_db: sqlite3.Connection) -> None:
        begun.set()
        let_go.wait()

    ledger._writer.run(hold)
    begun.wait()
    try:
        yield
    finally:
        let_go.set()


async def in_one_batch(ledger: SqlLedger, *calls: Awaitable[object]) -> list[object]:
    """Let the calls share a commit; each one's result or error."""
    with writer_held(ledger):
        tasks = [asyncio.ensure_future(call) for call in calls]
        await asyncio.sleep(0)
    return await asyncio.gather(*tasks, return_exceptions=True)


class TestFile:
    async def test_it_is_its_owners_alone(self, ledger: SqlLedger, path: Path) -> None:
        await ledger.accept([message(1)])
        modes = {f.name: f.stat().st_mode & 0o777 for f in path.parent.iterdir()}
        assert modes == dict.fromkeys(["ledger.db", "ledger.db-shm", "ledger.db-wal", "ledger.db.lock"], 0o600)

    async def test_closed_it_is_one_file(self, path: Path) -> None:
        async with open_sqlite(path, worker=True) as ledger:
            await ledger.accept([message(1)])
            await ledger.depths()
        assert sorted(f.name for f in path.parent.iterdir()) == ["ledger.db", "ledger.db.lock"]

    async def test_a_commit_is_on_disk(self, ledger: SqlLedger) -> None:
        assert database(ledger).execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database(ledger).execute("PRAGMA synchronous").fetchone() == (2,)

    async def test_a_file_that_is_no_ledger_is_refused(self, path: Path) -> None:
        write_file(path, b"this is not a database, and long enough to tell" * 50)
        with pytest.raises(LedgerUnavailable) as error:
            await open_sqlite(path, worker=True).__aenter__()
        assert error.value.fix

    async def test_a_folder_that_cannot_be_is_refused(self, path: Path) -> None:
        write_file(path.parent, b"a file where the folder should be")
        for worker in (True, False):
            with pytest.raises(LedgerUnavailable):
                await open_sqlite(path, worker=worker).__aenter__()

    async def test_a_closed_ledger_says_so(self, path: Path) -> None:
        async with open_sqlite(path, worker=True) as ledger:
            pass
        with pytest.raises(LedgerUnavailable):
            await ledger.accept([message(1)])


class TestLock:
    async def test_a_second_worker_is_told_who_is_at_work(self, ledger: SqlLedger, path: Path) -> None:
        with pytest.raises(LedgerInUse) as error:
            await open_sqlite(path, worker=True).__aenter__()
        assert str(os.getpid()) in error.value.message
        assert error.value.fix

    async def test_the_lock_ends_with_the_ledger(self, path: Path) -> None:
        for _ in range(2):
            async with open_sqlite(path, worker=True):
                pass

    async def test_beside_the_worker_nothing_is_claimed(self, ledger: SqlLedger, path: Path) -> None:
        await ledger.accept([message(1)])
        await ledger.say(OTHER, [piece("a")])
        async with open_sqlite(path, worker=False) as beside:
            assert await states(beside) == [("text 1", "waiting", "")]
            for refused in (beside.claim("w1", 1), beside.due("w1", 1)):
                with pytest.raises(NotTheWorker) as error:
                    await refused
                assert error.value.fix

    async def test_opening_beside_the_worker_takes_nothing_from_it(self, ledger: SqlLedger, path: Path) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        async with open_sqlite(path, worker=False):
            pass
        assert await claim(ledger) == []
        await ledger.renew(turn)

    async def test_a_new_worker_takes_over_at_once(self, path: Path) -> None:
        clock = Clock()
        async with open_sqlite(path, worker=True, clock=clock) as ledger:
            await ledger.accept([message(1), message(2, OTHER)])
            before = await claim(ledger)
            await ledger.say(CHAT, [piece("a")])
            await due_one(ledger)
        async with open_sqlite(path, worker=True, clock=clock) as ledger:
            assert [(t.id, t.attempt) for t in await claim(ledger)] == [(t.id, 2) for t in before]
            assert (await due_one(ledger)).ambiguous is True


class TestWriter:
    async def test_what_is_queued_shares_one_commit(self, ledger: SqlLedger) -> None:
        statements: list[str] = []
        with writer_held(ledger):
            accepts = [asyncio.create_task(ledger.accept([message(n)])) for n in range(50)]
            await asyncio.sleep(0)
            database(ledger).set_trace_callback(statements.append)
        assert await asyncio.gather(*accepts) == [["new"]] * 50
        # one COMMIT ends the transaction that was held, one is for all fifty
        assert statements.count("COMMIT") == 2

    async def test_a_failing_function_spoils_no_other(self, ledger: SqlLedger) -> None:
        def refuse(*_: object) -> RouteChange:
            raise NotFound("No.")

        results = await in_one_batch(
            ledger, ledger.accept([message(1)]), ledger.change_routes(refuse), ledger.accept([message(2)])
        )
        assert [results[0], type(results[1]), results[2]] == [["new"], NotFound, ["new"]]
        assert [text for text, _, _ in await states(ledger)] == ["text 1", "text 2"]

    async def test_a_function_that_fails_half_way_leaves_nothing(self, ledger: SqlLedger) -> None:
        broken = replace(message(2), data={"x": object()})  # type: ignore[dict-item]
        results = await in_one_batch(ledger, ledger.accept([message(1), broken]), ledger.accept([message(3)]))
        assert results[1] == ["new"]
        assert isinstance(results[0], Exception)
        assert [text for text, _, _ in await states(ledger)] == ["text 3"]
        assert await ledger.accept([message(1)]) == ["new"]

    async def test_an_error_of_the_program_is_not_taken_for_a_full_disk(self, ledger: SqlLedger) -> None:
        with pytest.raises(sqlite3.IntegrityError):
            await ledger._writer.run(lambda db: db.execute("INSERT INTO config VALUES (NULL)"))

    async def test_even_the_end_of_a_thread_does_not_end_the_writer(self, ledger: SqlLedger) -> None:
        def leave(*_: object) -> RouteChange:
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await ledger.change_routes(leave)
        assert await ledger.accept([message(1)]) == ["new"]

    async def test_what_was_queued_is_committed_before_the_file_is_closed(self, path: Path) -> None:
        async with open_sqlite(path, worker=True) as ledger:
            with writer_held(ledger):
                accepting = asyncio.create_task(ledger.accept([message(1)]))
                await asyncio.sleep(0)
        assert await accepting == ["new"]
        async with open_sqlite(path, worker=True) as ledger:
            assert len(await claim(ledger)) == 1

    async def test_a_giver_up_does_not_disturb_the_batch(self, ledger: SqlLedger) -> None:
        with writer_held(ledger):
            tasks = [asyncio.create_task(ledger.accept([message(n)])) for n in range(3)]
            await asyncio.sleep(0)
            tasks[1].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [results[0], results[2]] == [["new"], ["new"]]

    async def test_reads_go_on_while_the_writer_is_busy(self, ledger: SqlLedger) -> None:
        await ledger.accept([message(1)])
        with writer_held(ledger):
            assert len(await ledger.messages(CHAT.key)) == 1

    async def test_readers_cannot_write(self, ledger: SqlLedger) -> None:
        with pytest.raises(LedgerUnavailable):
            await ledger._reader.run(lambda db: db.execute("DELETE FROM messages"))


class TestTrouble:
    """Whatever goes wrong on the disk: no acknowledgement, nothing half stored, and life goes on after."""

    async def test_a_full_database(self, ledger: SqlLedger) -> None:
        pages = database(ledger).execute("PRAGMA page_count").fetchone()[0]
        database(ledger).execute(f"PRAGMA max_page_count = {pages + 20}")
        large = [message(n, text="x" * 3000) for n in range(40)]

        async def accept_one_by_one() -> None:
            for m in large:
                await ledger.accept([m])

        with pytest.raises(LedgerUnavailable) as error:
            await accept_one_by_one()
        assert error.value.fix
        accepted = len(await ledger.messages(CHAT.key))
        assert 0 < accepted < 35
        results = await in_one_batch(ledger, *(ledger.accept([m]) for m in large[35:]))
        assert [type(r) for r in results] == [LedgerUnavailable] * 5
        assert len(await ledger.messages(CHAT.key)) == accepted
        database(ledger).execute("PRAGMA max_page_count = 1000000")
        assert await ledger.accept([large[0], large[accepted], large[39]]) == ["duplicate", "new", "new"]

    async def test_a_commit_that_fails(self, ledger: SqlLedger, path: Path) -> None:
        assert await ledger.accept([message(1)]) == ["new"]
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        wal = path.with_name("ledger.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (wal + 100, hard))
        try:
            results = await in_one_batch(ledger, *(ledger.accept([message(n)]) for n in range(2, 5)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [type(r) for r in results] == [LedgerUnavailable] * 3
        assert [text for text, _, _ in await states(ledger)] == ["text 1"]
        assert await ledger.accept([message(2)]) == ["new"]

    async def test_a_transaction_that_sqlite_gave_up(self, ledger: SqlLedger) -> None:
        def give_up(db: sqlite3.Connection) -> None:
            db.execute("ROLLBACK")
            raise sqlite3.OperationalError("database or disk is full")

        async def giving_up() -> None:
            await ledger._writer.run(give_up)

        results = await in_one_batch(ledger, ledger.accept([message(1)]), giving_up(), ledger.accept([message(2)]))
        assert [type(r) for r in results] == [LedgerUnavailable] * 3
        assert await ledger.accept([message(1), message(2)]) == ["new", "new"]

    async def test_another_process_that_never_lets_go(self, ledger: SqlLedger, path: Path) -> None:
        database(ledger).execute("PRAGMA busy_timeout = 20")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable):
            await ledger.accept([message(1)])
        await ledger.wait_for_turns(0.01)
        other.close()
        assert await ledger.accept([message(1)]) == ["new"]


class TestKilled:
    async def test_every_acknowledged_event_survives_a_kill(self, path: Path) -> None:
        script = Path(__file__).with_name("accept_until_killed.py")
        child = await asyncio.create_subprocess_exec(sys.executable, script, path, stdout=asyncio.subprocess.PIPE)
        assert child.stdout is not None
        acknowledged = [await child.stdout.readline() for _ in range(300)]
        child.send_signal(signal.SIGKILL)
        acknowledged += (await child.stdout.read()).splitlines(keepends=True)
        assert await child.wait() == -signal.SIGKILL
        numbers = [int(line) for line in acknowledged if line.endswith(b"\n")]
        assert len(numbers) >= 300
        async with open_sqlite(path, worker=True) as ledger:
            for n in numbers:
                assert await ledger.accept([message(n, Conversation("shop", f"c{n % 7}"))]) == ["duplicate"]
            stored = {m.message.text for c in range(7) for m in await ledger.messages(f"shop/c{c}", 100_000)}
            assert stored >= {f"text {n}" for n in numbers}
