"""The embedded ledger: one SQLite file, one worker, any number of commands beside it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path

import structlog

from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.sql.ledger import SqlLedger
from gateway.ledger.sqlite.clock import SteadyClock
from gateway.ledger.sqlite.lock import worker_lock
from gateway.ledger.sqlite.reader import Reader
from gateway.ledger.sqlite.schema import SqliteDatabase, connect, migrate, steps
from gateway.ledger.sqlite.writer import Writer, unavailable

log = structlog.get_logger()

LOOK_SECONDS = 1.0
"""How often the wall clock is looked at."""


@asynccontextmanager
async def open_sqlite(
    path: Path, *, worker: bool, lease_seconds: float = 30.0, clock: Callable[[], float] | None = None
) -> AsyncIterator[SqlLedger]:
    """Open the ledger at `path`, made or brought to this version's tables if need be.

    There is one worker at a time; it takes over at once what an earlier one left. `worker=False` is for commands beside
    it. Without a `clock`, time is the wall clock's, and what waits moves with that. Raises LedgerInUse,
    LedgerTooNew, or LedgerUnavailable where the file can't be opened.
    """
    with ExitStack() as stack:
        try:
            if worker:
                stack.enter_context(worker_lock(path))
            db = await asyncio.to_thread(_open, path, worker)
        except (sqlite3.Error, OSError) as error:
            raise unavailable(error) from error
        steady = SteadyClock()
        ledger = SqlLedger(
            partial(Writer, db), Reader(path), worker=worker, lease_seconds=lease_seconds, clock=clock or steady
        )
        following = asyncio.create_task(_follow(ledger, steady), name="clock") if worker and not clock else None
        try:
            if worker:
                await ledger.take_over()
            yield ledger
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            await ledger.close()


async def _follow(ledger: SqlLedger, clock: SteadyClock) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        moved = clock.moved()
        if moved:
            try:
                await ledger.shift(moved)
            except LedgerUnavailable as error:
                log.warning("clock_not_followed", error=str(error))
                continue
            clock.follow(moved)
            log.warning("clock_moved", seconds=round(moved, 1))


def _open(path: Path, worker: bool) -> SqliteDatabase:
    db = connect(path, writable=True)
    try:
        migrate(db, nullcontext if worker else partial(worker_lock, path), steps())
    except BaseException:
        db.close()
        raise
    return db
