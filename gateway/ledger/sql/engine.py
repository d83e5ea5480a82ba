"""What an engine brings to the queries: one who writes, one who reads, and the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from gateway.ledger.sql.database import Database

T = TypeVar("T")

Now = Callable[[], float]


class Writer(Protocol):
    """Runs functions that write, each whole or not at all."""

    def run(self, work: Callable[[Database], T], after: Callable[[T], None] | None = None) -> asyncio.Future[T]:
        """Queue a function; the future ends when its commit is on disk.

        `after` is called with the result in the event loop, even if nobody waits any more. The future raises what the
        function raised, or LedgerUnavailable when nothing could be written.
        """
        ...

    async def look(self) -> None:
        """Notice what other processes wrote."""
        ...

    def tell(self) -> None:
        """Let other processes that wait for work notice that there is some."""
        ...

    async def close(self) -> None:
        """Commit what is queued, then disconnect."""
        ...


class Reader(Protocol):
    """Runs functions that read, each on one consistent state."""

    async def run(self, read: Callable[[Database], T]) -> T:
        """The function's result. Raises what it raises, LedgerUnavailable where the engine fails."""
        ...

    async def close(self) -> None:
        """Let running reads end, then disconnect."""
        ...
