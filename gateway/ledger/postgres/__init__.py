"""The distributed ledger: one PostgreSQL database, any number of gateways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import psycopg

from gateway.ledger.postgres.clock import ServerClock
from gateway.ledger.postgres.engine import PostgresReader, PostgresWriter
from gateway.ledger.postgres.schema import migrate, steps
from gateway.ledger.postgres.sessions import connect, unavailable
from gateway.ledger.sql.ledger import SqlLedger


@asynccontextmanager
async def open_postgres(
    url: str, *, worker: bool, lease_seconds: float = 30.0, clock: Callable[[], float] | None = None
) -> AsyncIterator[SqlLedger]:
    """Open the ledger in a database, with its tables made or brought to this version's if need be.

    Any number of workers share it; `worker=False` is for commands. Without a `clock`, time is the server's. Raises
    LedgerTooNew, or LedgerUnavailable where the database can't be reached.
    """
    try:
        server = await asyncio.to_thread(_prepare, url)
    except psycopg.Error as error:
        raise unavailable(error) from error
    ledger = SqlLedger(
        partial(PostgresWriter, url, None if clock else server),
        PostgresReader(url),
        worker=worker,
        lease_seconds=lease_seconds,
        clock=clock or server,
    )
    try:
        yield ledger
    finally:
        await ledger.close()


def _prepare(url: str) -> ServerClock:
    with connect(url) as connection:
        migrate(connection, steps())
        return ServerClock(connection)
