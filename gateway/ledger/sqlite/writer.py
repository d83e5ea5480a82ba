"""The one thread that writes: whole transactions as functions, as many as are queued to one commit.

A function takes the connection, reads and writes, and returns or raises. What it raises undoes its own work and no
other's. Nobody is told of a result before the commit that holds it is on disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.sql.job import Job, Queued, Tell, Work
from gateway.ledger.sqlite.schema import SqliteDatabase

T = TypeVar("T")


class _Undone(Exception):
    """SQLite gave the whole transaction up, and with it what other functions of the batch had done."""


class Writer:
    """Owns the writing connection. `on_foreign_change` is called in the event loop when another process wrote."""

    def __init__(self, db: SqliteDatabase, on_foreign_change: Callable[[], None]) -> None:
        self._db = db
        self._on_foreign_change = on_foreign_change
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Queued | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="ledger-write", daemon=True)
        self._data_version = self._read_data_version()
        self._closed = False
        self._thread.start()

    def run(self, work: Work[T], after: Callable[[T], None] | None = None) -> asyncio.Future[T]:
        """Queue a function; the future ends when its commit is on disk.

        `after` is called with the result in the event loop, even if nobody waits any more. The future raises what the
        function raised, or LedgerUnavailable when nothing could be written.
        """
        done: asyncio.Future[T] = self._loop.create_future()
        if self._closed:
            done.set_exception(LedgerUnavailable("The ledger is closed."))
        else:
            self._queue.put(Job(work, done, after))
        return done

    async def look(self) -> None:
        """Notice what other processes wrote since the last commit. Writes nothing, and waits for no disk."""
        await self.run(lambda _db: None)

    def tell(self) -> None:
        """Nothing to do: the others look at the file."""

    async def close(self) -> None:
        """Commit what is queued, then close the connection."""
        self._closed = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        more = True
        while more:
            queued = [self._queue.get()]
            try:
                while True:
                    queued.append(self._queue.get_nowait())
            except Empty:
                pass
            more = None not in queued
            tells, foreign = self._commit([job for job in queued if job is not None])
            self._loop.call_soon_threadsafe(self._tell, tells, foreign)
        self._db.close()

    def _tell(self, tells: list[Tell], foreign: bool) -> None:
        for tell in tells:
            tell()
        if foreign:
            self._on_foreign_change()

    def _commit(self, jobs: list[Queued]) -> tuple[list[Tell], bool]:
        foreign = False
        try:
            self._db.execute("BEGIN IMMEDIATE")
            version = self._read_data_version()
            foreign, self._data_version = version != self._data_version, version
            tells = [self._run_one(job) for job in jobs]
            self._db.execute("COMMIT")
        except (sqlite3.Error, _Undone) as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            tells = [job.fail(unavailable(error)) for job in jobs]
        return tells, foreign

    def _run_one(self, job: Queued) -> Tell:
        self._db.execute("SAVEPOINT job")
        try:
            tell = job.run(self._db)
        except BaseException as error:
            if not self._db.in_transaction:
                raise _Undone(str(error)) from error
            self._db.execute("ROLLBACK TO job")
            self._db.execute("RELEASE job")
            return job.fail(unavailable(error) if is_trouble(error) else error)
        self._db.execute("RELEASE job")
        return tell

    def _read_data_version(self) -> int:
        version: int = self._db.execute("PRAGMA data_version").fetchone()[0]
        return version


def is_trouble(error: BaseException) -> bool:
    """Whether SQLite failed for a reason outside this program: the disk, a lock, the file."""
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def unavailable(error: BaseException) -> LedgerUnavailable:
    """What SQLite said, as the error that callers know."""
    failure = LedgerUnavailable(
        f"The ledger can't be written or read: {error}.",
        fix="Check the free space and the permissions of the ledger's folder; nothing accepted before is lost.",
    )
    failure.__cause__ = error
    return failure
