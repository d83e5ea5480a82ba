"""One clock for all gateways: leases are compared, so they must be written in one time."""

from __future__ import annotations

import time

import psycopg

_ASK = "SELECT extract(epoch FROM clock_timestamp())::float8"


class ServerClock:
    """The database server's time, carried on by this machine's monotonic clock between two measurements.

    A wall clock that is wrong here, or jumps, changes nothing.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        before = time.monotonic()
        row = connection.execute(_ASK).fetchone()
        self._set(before, row[0] if row else time.time())

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._server + time.monotonic() - self._here

    async def measure(self, connection: psycopg.AsyncConnection) -> None:
        """Ask again."""
        before = time.monotonic()
        row = await (await connection.execute(_ASK)).fetchone()
        if row:
            self._set(before, row[0])

    def _set(self, before: float, server: float) -> None:
        self._here = (before + time.monotonic()) / 2
        self._server: float = server
