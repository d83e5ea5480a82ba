"""Side effects of one turn, each carried out once: finished ones are journalled and replayed when a turn is retried."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable

from pydantic import BaseModel

from agents_runtime.run import Journal

PATIENCE = 5.0
"""Seconds a call that is being carried out gets to finish and be journalled when its run is cancelled."""


class Effects:
    """The journal of a turn as its tools see it. `broken` is what the journal raised: it ends the run."""

    def __init__(self, journal: Journal) -> None:
        self.broken: Exception | None = None
        self._journal = journal
        self._finished: Counter[str] = Counter()

    async def once(self, tool: str, arguments: BaseModel, act: Callable[[], Awaitable[str]]) -> str:
        """The journalled result of this call, or what `act` returns, journalled before it is returned.

        A call is known by its tool, its arguments and how many like it have finished in this turn, so that saying the
        same thing twice on purpose happens twice. A failed call is not journalled and may be tried again.
        """
        call = f"{tool}:{_digest(arguments)}"
        key = f"{call}:{self._finished[call] + 1}"
        result = await self._guard(self._journal.lookup(key))
        if result is None:
            result = await _undisturbed(self._act(key, act))
        self._finished[call] += 1
        return result

    async def _act(self, key: str, act: Callable[[], Awaitable[str]]) -> str:
        result = await act()
        await self._guard(self._journal.record(key, result))
        return result

    async def _guard(self, step: Awaitable[str | None]) -> str | None:
        try:
            return await step
        except Exception as error:
            self.broken = error
            raise


async def _undisturbed(work: Awaitable[str]) -> str:
    """Await work that a cancellation must not stop halfway: an effect that happened must be journalled."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=PATIENCE)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise


def _digest(arguments: BaseModel) -> str:
    canonical = json.dumps(arguments.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]
