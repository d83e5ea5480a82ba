from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from gateway.ledger.postgres import open_postgres
from gateway.ledger.protocol import Ledger
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


class TestPostgres(Conformance):
    @pytest.fixture
    def store(self, postgres: Server) -> Iterator[PostgresStore]:
        with postgres.schema() as url:
            yield PostgresStore(url)
