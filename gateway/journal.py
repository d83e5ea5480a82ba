"""The journal of one turn, as tools see it."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Turn


@dataclass(frozen=True, slots=True)
class TurnJournal:
    """Finished side effects of a turn, kept in the ledger so that a retry doesn't repeat them."""

    ledger: Ledger
    turn: Turn

    async def lookup(self, key: str) -> str | None:
        """The recorded result, or None."""
        return await self.ledger.journal(self.turn, key)

    async def record(self, key: str, result: str) -> None:
        """Record a result. Raises LeaseLost when another worker took the turn over."""
        await self.ledger.record(self.turn, key, result)
