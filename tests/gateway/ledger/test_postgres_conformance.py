from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing

import pytest

from gateway.ledger.postgres import open_postgres
from gateway.ledger.postgres.database import PostgresDatabase
from gateway.ledger.postgres.sessions import connect
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Fault
from gateway.ledger.sql.faults import faults
from tests.gateway.ledger.conformance import Conformance
from tests.gateway.ledger.support import Clock
from tests.support.postgres import Server


class PostgresStore:
    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = Clock()
        self.lease = 30.0

    @asynccontextmanager
    async def open(self, *, worker: bool = True) -> AsyncIterator[Ledger]:
        async with open_postgres(self.url, worker=worker, lease_seconds=self.lease, clock=self.clock) as ledger:
            yield ledger

    def broken(self, sql: str) -> list[Fault]:
        with closing(connect(self.url)) as connection:
            connection.execute("BEGIN")
            db = PostgresDatabase(connection)
            db.execute(sql)
            return faults(db)


class TestPostgres(Conformance):
    @pytest.fixture
    def store(self, postgres: Server) -> Iterator[PostgresStore]:
        with postgres.schema() as url:
            yield PostgresStore(url)
