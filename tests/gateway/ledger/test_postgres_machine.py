from __future__ import annotations

from contextlib import AbstractAsyncContextManager, ExitStack

import pytest
from hypothesis import settings

from gateway.ledger.postgres import open_postgres
from gateway.ledger.sql.ledger import SqlLedger
from tests.gateway.ledger.machine import LEASE, LedgerMachine
from tests.support.postgres import Server

SERVERS: list[Server] = []


@pytest.fixture(scope="module", autouse=True)
def server(postgres: Server) -> None:
    SERVERS[:] = [postgres]


class PostgresMachine(LedgerMachine):
    def __init__(self) -> None:
        self.stack = ExitStack()
        self.url = self.stack.enter_context(SERVERS[0].schema())
        super().__init__()

    def opening(self) -> AbstractAsyncContextManager[SqlLedger]:
        return open_postgres(self.url, worker=True, lease_seconds=LEASE, clock=self.clock)

    def kill(self) -> None:
        """A gateway is gone, its leases are not: nothing of the model changes."""
        self.close()
        self.open()

    def teardown(self) -> None:
        super().teardown()
        self.stack.close()


TestPostgresMachine = PostgresMachine.TestCase
TestPostgresMachine.settings = settings(max_examples=15, stateful_step_count=30)
