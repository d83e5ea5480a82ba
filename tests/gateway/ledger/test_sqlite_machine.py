from __future__ import annotations

import shutil
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from hypothesis import settings

from gateway.ledger.sql.ledger import SqlLedger
from gateway.ledger.sqlite import open_sqlite
from tests.gateway.ledger.machine import LEASE, LedgerMachine


class SqliteMachine(LedgerMachine):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.lives = 0
        super().__init__()

    @property
    def path(self) -> Path:
        return self.folder / f"life-{self.lives}" / "ledger.db"

    def opening(self) -> AbstractAsyncContextManager[SqlLedger]:
        return open_sqlite(self.path, worker=True, lease_seconds=LEASE, clock=self.clock)

    def open(self) -> None:
        super().open()
        self.ledger._writer._db.execute("PRAGMA synchronous = OFF")  # what a kill leaves does not depend on it

    def kill(self) -> None:
        """What a killed process leaves is its files. The next one takes over at once."""
        left = self.path.parent
        self.lives += 1
        self.path.parent.mkdir()
        for name in ("ledger.db", "ledger.db-wal"):
            shutil.copy(left / name, self.path.parent / name)
        self.close()
        self.open()
        for turn in self.turns.values():
            if turn.held is not None:
                turn.held, turn.ready_at = None, min(turn.ready_at, self.clock.now)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)


TestSqliteMachine = SqliteMachine.TestCase
TestSqliteMachine.settings = settings(max_examples=25, stateful_step_count=30)
