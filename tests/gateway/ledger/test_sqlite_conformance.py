from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Fault
from gateway.ledger.sql.faults import faults
from gateway.ledger.sqlite import open_sqlite
from gateway.ledger.sqlite.schema import connect
from tests.gateway.ledger.conformance import Conformance
from tests.gateway.ledger.support import Clock


class SqliteStore:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Clock()
        self.lease = 30.0

    @asynccontextmanager
    async def open(self, *, worker: bool = True) -> AsyncIterator[Ledger]:
        async with open_sqlite(self.path, worker=worker, lease_seconds=self.lease, clock=self.clock) as ledger:
            yield ledger

    def broken(self, sql: str) -> list[Fault]:
        with closing(connect(self.path, writable=True)) as db:
            db.execute("BEGIN")
            db.execute(sql)
            return faults(db)


class TestSqlite(Conformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> SqliteStore:
        return SqliteStore(tmp_path / "ledger.db")
