"""One gateway of several: the sign that it lives, and what only one of them may do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress

import structlog

from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.protocol import Ledger

log = structlog.get_logger()

LIFE = 10.0
"""Seconds after its last sign of life when a gateway counts as dead and its work is taken over."""

HOLD = 6.0
"""Seconds after its last renewal when a connection may be listened on by another gateway."""

RENEW_EVERY = 2.0
"""Seconds between renewals, and between tries to take what another holds."""


class Holding:
    """What `owner` holds among the gateways of one ledger. `shared` is called with how many there are."""

    def __init__(self, ledger: Ledger, owner: str, shared: Callable[[int], None]) -> None:
        self._ledger = ledger
        self._owner = owner
        self._shared = shared
        self._beating: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Join the living; from now on others notice when this gateway does not."""
        self._shared(await self._ledger.beat(self._owner, LIFE))
        self._beating = asyncio.create_task(self._beat(), name="beat")

    async def stop(self) -> None:
        """Leave: what is held is free for the others at once."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        with suppress(LedgerUnavailable):
            await self._ledger.let_go(self._owner)

    async def alone(self, name: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Do a piece of work to its end while no other gateway does it, beginning anew whenever the hold came back.

        Raises what the work raises.
        """
        while True:
            if await self._hold(name):
                task = asyncio.create_task(work(), name=name)
                try:
                    if await self._until_lost(name, task):
                        return await task
                    log.warning("hold_lost", name=name)
                finally:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            await asyncio.sleep(RENEW_EVERY)

    async def _until_lost(self, name: str, task: asyncio.Task[None]) -> bool:
        """Renew while the work goes on. True when it ended by itself, False when the hold is gone."""
        until = time.monotonic() + HOLD
        while True:
            done, _ = await asyncio.wait({task}, timeout=RENEW_EVERY)
            if done:
                return True
            asked = time.monotonic()
            try:
                if not await self._ledger.hold(name, self._owner, HOLD):
                    return False
                until = asked + HOLD
            except LedgerUnavailable:
                if time.monotonic() > until - RENEW_EVERY:
                    return False

    async def _hold(self, name: str) -> bool:
        try:
            return await self._ledger.hold(name, self._owner, HOLD)
        except LedgerUnavailable:
            return False

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY)
            try:
                self._shared(await self._ledger.beat(self._owner, LIFE))
            except LedgerUnavailable as error:
                log.warning("no_sign_of_life", error=str(error))
