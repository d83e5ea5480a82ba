"""The loops that claim work from the ledger and hand it to the pipeline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from contextlib import suppress

import structlog

from channels.errors import PostroomError
from gateway.ledger.errors import LeaseLost, LedgerUnavailable
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Delivery, Turn
from gateway.patience import until_written
from gateway.pipeline import Pipeline

log = structlog.get_logger()

TURNS_AT_ONCE = 64
DELIVERIES_AT_ONCE = 128
IDLE_WAIT = 5.0
"""Seconds a loop sleeps at most when nothing wakes it."""

RENEW_EVERY = 10.0
"""Seconds between lease renewals; the lease is thirty."""


class Workers:
    """Runs turns and deliveries side by side, bounded, until told to drain."""

    def __init__(self, ledger: Ledger, pipeline: Pipeline, owner: str) -> None:
        self._ledger = ledger
        self._pipeline = pipeline
        self._owner = owner
        self._turns: dict[asyncio.Task[None], Turn] = {}
        self._deliveries: dict[asyncio.Task[None], Delivery] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._freed = asyncio.Event()
        self._in_doubt = False
        """Whether a claim's answer was lost: what it leased is ours, and nobody works on it."""

    def start(self) -> None:
        """Begin to claim."""
        self._loops = [
            asyncio.create_task(self._claim_turns(), name="turns"),
            asyncio.create_task(self._claim_deliveries(), name="deliveries"),
        ]

    async def drain(self, patience: float) -> None:
        """Claim no more turns; let what runs end and go out within `patience` seconds, then give the rest back."""
        deadline = time.monotonic() + patience
        turns_loop, deliveries_loop = self._loops
        await _cancelled(turns_loop)
        await _ended(self._turns, deadline)
        await self._deliver_what_is_due(deadline)
        await _cancelled(deliveries_loop)
        await _ended(self._deliveries, deadline)
        for task, turn in list(self._turns.items()):
            await _cancelled(task)
            with suppress(LedgerUnavailable):  # its lease runs out
                await self._ledger.release(turn)
        await _cancelled(*self._deliveries)

    async def _deliver_what_is_due(self, deadline: float) -> None:
        """Give the loop of deliveries time for what can go now; what has to wait goes after the next start."""
        while time.monotonic() < deadline and (self._deliveries or (await self._ledger.depths()).pending_deliveries):
            before = len(self._deliveries)
            await asyncio.sleep(0.05)
            if not self._deliveries and not before:
                return

    async def _claim_turns(self) -> None:
        while True:
            free = TURNS_AT_ONCE - len(self._turns)
            if free <= 0:
                await self._room()
                continue
            try:
                await self._give_back_what_is_in_doubt()
                claims = await self._ledger.claim(self._owner, free)
            except LedgerUnavailable as error:
                self._in_doubt = True
                await _pause(error)
                continue
            for turn in claims.turns:
                task = asyncio.create_task(self._answer(turn), name=f"turn {turn.id}")
                self._turns[task] = turn
                task.add_done_callback(self._turn_done)
            if not claims.turns:
                await self._ledger.wait_for_turns(_until(claims.next_at))

    async def _claim_deliveries(self) -> None:
        while True:
            free = DELIVERIES_AT_ONCE - len(self._deliveries)
            if free <= 0:
                await self._room()
                continue
            try:
                await self._give_back_what_is_in_doubt()
                due = await self._ledger.due(self._owner, free)
            except LedgerUnavailable as error:
                self._in_doubt = True
                await _pause(error)
                continue
            for delivery in due.deliveries:
                task = asyncio.create_task(self._deliver(delivery), name=f"delivery {delivery.id}")
                self._deliveries[task] = delivery
                task.add_done_callback(self._delivery_done)
            if not due.deliveries:
                await self._ledger.wait_for_deliveries(_until(due.next_at))

    async def _answer(self, turn: Turn) -> None:
        answering = asyncio.current_task()
        renewing = asyncio.create_task(self._keep(turn, answering))
        try:
            await self._pipeline.answer(turn)
        except LedgerUnavailable as error:
            log.error("turn_not_answered", error=str(error))
            await until_written(self._ledger.release, turn)
        except PostroomError as error:
            log.error("work_not_written", code=error.code, error=str(error))
        finally:
            renewing.cancel()

    async def _deliver(self, delivery: Delivery) -> None:
        try:
            await self._pipeline.deliver(delivery)
        except LedgerUnavailable as error:
            await until_written(self._ledger.postpone, delivery, 1.0, str(error))
        except PostroomError as error:
            log.error("work_not_written", code=error.code, error=str(error))

    async def _give_back_what_is_in_doubt(self) -> None:
        """Free what was leased to this worker by a claim whose answer got lost with the ledger."""
        if self._in_doubt:
            turns = {turn.id for turn in self._turns.values()}
            await self._ledger.forget(self._owner, turns, {delivery.id for delivery in self._deliveries.values()})
            self._in_doubt = False

    async def _keep(self, turn: Turn, answering: asyncio.Task[None] | None) -> None:
        """Renew the lease while the turn runs; a lost lease stops the run, whose result could not be written."""
        while True:
            await asyncio.sleep(RENEW_EVERY)
            try:
                turn = await self._ledger.renew(turn)
            except LeaseLost:
                log.warning("lease_lost", turn=turn.id)
                if answering is not None:
                    answering.cancel()
                return
            except LedgerUnavailable as error:
                log.warning("lease_not_renewed", turn=turn.id, error=str(error))

    async def _room(self) -> None:
        self._freed.clear()
        await self._freed.wait()

    def _turn_done(self, task: asyncio.Task[None]) -> None:
        self._turns.pop(task, None)
        self._freed.set()

    def _delivery_done(self, task: asyncio.Task[None]) -> None:
        self._deliveries.pop(task, None)
        self._freed.set()


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ended(tasks: Collection[asyncio.Task[None]], deadline: float) -> None:
    if tasks:
        await asyncio.wait([*tasks], timeout=max(0.0, deadline - time.monotonic()))


async def _pause(error: LedgerUnavailable) -> None:
    log.error("ledger_unavailable", error=str(error))
    await asyncio.sleep(1.0)


def _until(next_at: float | None) -> float:
    return IDLE_WAIT if next_at is None else max(0.0, min(IDLE_WAIT, next_at - time.time()))
