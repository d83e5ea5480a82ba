"""A queued piece of work: how its result or its error gets back to whoever waits in the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from gateway.ledger.sql.database import Database

T = TypeVar("T")

Work = Callable[[Database], T]

Tell = Callable[[], None]
"""Tells whoever waits how a function ended; called in the event loop."""


class Queued(Protocol):
    """A job whose result type doesn't matter any more."""

    def run(self, db: Database) -> Tell:
        """Do the work; raises what it raises."""
        ...

    def fail(self, error: BaseException) -> Tell:
        """What to tell instead, when it failed."""
        ...


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """One function, the future of its result, and what is called with the result even if nobody waits any more."""

    work: Work[T]
    done: asyncio.Future[T]
    after: Callable[[T], None] | None

    def run(self, db: Database) -> Tell:
        """See Queued."""
        return partial(self._succeeded, self.work(db))

    def fail(self, error: BaseException) -> Tell:
        """See Queued."""
        return partial(self._failed, error)

    def _succeeded(self, result: T) -> None:
        if self.after is not None:
            self.after(result)
        if not self.done.done():
            self.done.set_result(result)

    def _failed(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)
