"""Reads beside the writer: a few threads, a connection each, none of which can write or hold a write up."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gateway.ledger.sql.database import Database
from gateway.ledger.sqlite.schema import SqliteDatabase, connect
from gateway.ledger.sqlite.writer import is_trouble, unavailable

T = TypeVar("T")

THREADS = 2
"""So that one long listing does not hold up the session a turn needs."""


class Reader:
    """Runs reading functions, each on one consistent state of the ledger."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ledger-read")
        self._mine = threading.local()
        self._opened: list[SqliteDatabase] = []

    async def run(self, read: Callable[[Database], T]) -> T:
        """The function's result. Raises what it raises, LedgerUnavailable where SQLite fails."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, read)

    async def close(self) -> None:
        """Let running reads end, then close every connection."""
        await asyncio.to_thread(self._pool.shutdown)
        for db in self._opened:
            db.close()

    def _read(self, read: Callable[[Database], T]) -> T:
        try:
            db = self._connection()
            db.execute("BEGIN")
            try:
                return read(db)
            finally:
                db.execute("ROLLBACK")
        except sqlite3.Error as error:
            if is_trouble(error):
                raise unavailable(error) from error
            raise

    def _connection(self) -> SqliteDatabase:
        db: SqliteDatabase | None = getattr(self._mine, "db", None)
        if db is None:
            db = self._mine.db = connect(self._path, writable=False)
            self._opened.append(db)
        return db
