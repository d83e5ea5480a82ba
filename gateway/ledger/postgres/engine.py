"""PostgreSQL as the ledger's engine: transactions side by side, and a wake-up between gateways."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import psycopg
import structlog

from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.postgres.clock import ServerClock
from gateway.ledger.postgres.sessions import Sessions, patient
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.job import Job, Queued

T = TypeVar("T")

log = structlog.get_logger()

WRITERS = 4
READERS = 2
"""Connections of one gateway, with one more that listens."""

LISTEN_AGAIN = 1.0
"""Seconds until a lost listening connection is made again; meanwhile the workers' own slow poll serves."""

CLOCK_EVERY = 10.0
"""Seconds between looks at the server's clock."""

CHANNEL = "SELECT 'postroom_' || current_schema()"


class PostgresWriter:
    """Runs writing functions, each in a transaction of its own, `WRITERS` at a time."""

    def __init__(self, url: str, clock: ServerClock | None, on_foreign_change: Callable[[], None]) -> None:
        self._url = url
        self._clock = clock
        self._on_foreign_change = on_foreign_change
        self._loop = asyncio.get_running_loop()
        self._sessions = Sessions(url, WRITERS, "ledger-write")
        self._closed = False
        self._telling = False
        self._me = secrets.token_hex(8)
        self._listener = asyncio.create_task(self._listen(), name="ledger-listen")

    def run(self, work: Callable[[Database], T], after: Callable[[T], None] | None = None) -> asyncio.Future[T]:
        """See Writer."""
        done: asyncio.Future[T] = self._loop.create_future()
        if self._closed:
            done.set_exception(LedgerUnavailable("The ledger is closed."))
        else:
            self._sessions.pool.submit(self._serve, Job(work, done, after))
        return done

    async def look(self) -> None:
        """Nothing to do: the server tells."""

    def tell(self) -> None:
        """Wake the other gateways; one word serves for all that happens until it is said."""
        if not self._telling and not self._closed:
            self._telling = True
            self._sessions.pool.submit(self._notify)

    async def close(self) -> None:
        """Commit what is queued, then disconnect."""
        self._closed = True
        self._listener.cancel()
        await asyncio.gather(self._listener, return_exceptions=True)
        await asyncio.to_thread(self._sessions.close)

    def _serve(self, job: Queued) -> None:
        try:
            tell = self._sessions.transact(job.run)
        except BaseException as error:
            tell = job.fail(error)
        self._loop.call_soon_threadsafe(tell)

    def _notify(self) -> None:
        self._telling = False
        with suppress(LedgerUnavailable):
            self._sessions.transact(
                lambda db: db.execute("SELECT pg_notify('postroom_' || current_schema(), ?)", (self._me,))
            )

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_until_lost()
            except (psycopg.Error, OSError) as error:
                log.warning("ledger_not_listening", error=type(error).__name__)
                await asyncio.sleep(LISTEN_AGAIN)

    async def _listen_until_lost(self) -> None:
        connection = await psycopg.AsyncConnection.connect(patient(self._url), autocommit=True)
        async with connection:
            (channel,) = await (await connection.execute(CHANNEL)).fetchone() or ("",)
            await connection.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
            self._on_foreign_change()  # what was said before is lost
            while True:
                if self._clock is not None:
                    await self._clock.measure(connection)
                async for word in connection.notifies(timeout=CLOCK_EVERY):
                    if word.payload != self._me:
                        self._on_foreign_change()


class PostgresReader:
    """Runs reading functions, each on one consistent state, `READERS` at a time."""

    def __init__(self, url: str) -> None:
        self._sessions = Sessions(url, READERS, "ledger-read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    async def run(self, read: Callable[[Database], T]) -> T:
        """See Reader."""
        return await asyncio.get_running_loop().run_in_executor(
            self._sessions.pool, lambda: self._sessions.transact(read)
        )

    async def close(self) -> None:
        """See Reader."""
        await asyncio.to_thread(self._sessions.close)
