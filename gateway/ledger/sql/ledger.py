"""The ledger over SQL: the protocol, with an engine's writer and reader behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from channels.adapter import Receipt
from channels.errors import PostroomError
from channels.message import Conversation, InboundMessage, StatusUpdate
from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.records import (
    Claims,
    DeadLetter,
    Delivery,
    DueDeliveries,
    Erased,
    Finish,
    Piece,
    Turn,
)
from gateway.ledger.sql import (
    deliveries,
    erase,
    holds,
    inbox,
    letters,
    moves,
    shift,
    turns,
)
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.engine import Now, Reader, Writer
from gateway.ledger.sql.keeping import Keeping
from gateway.ledger.sql.lines import line_of

SEND_LEASES = 4
"""A send is leased for this many times a turn's lease: nothing renews it, and a large file takes its time."""

FRESH_EVERY = 4
"""Of so many conversations claimed while more are waiting, one is new: a backlog keeps nobody from a first answer."""

LOOK_SECONDS = 0.4
"""How often a waiting task looks for what another process wrote."""


class NotTheWorker(PostroomError):
    """This ledger was opened beside the worker: it may look, change configuration and speak, and take no work."""

    code = "not_the_worker"


class SqlLedger(Keeping):
    """A ledger on an engine's writer and reader. `make_writer` is told what to call when others wrote."""

    def __init__(
        self,
        make_writer: Callable[[Callable[[], None]], Writer],
        reader: Reader,
        *,
        worker: bool,
        lease_seconds: float,
        clock: Now,
    ) -> None:
        self._worker = worker
        self._lease = lease_seconds
        self._asked_for = 0
        self._turns_stir = asyncio.Event()
        self._deliveries_stir = asyncio.Event()
        super().__init__(make_writer(self._stir), reader, clock)

    async def take_over(self) -> None:
        """Begin as the one worker: whatever an earlier one held is free again."""

        def void(db: Database) -> None:
            shift.back_from_the_future(db, self._now())
            turns.void_leases(db)
            deliveries.void_sends(db, self._now())

        await self._writer.run(void)

    async def shift(self, seconds: float) -> None:
        """The clock is moved by so many seconds: what waits moves with it."""
        await self._writer.run(lambda db: shift.shift(db, seconds, self._now() + seconds), lambda _: self._call())

    async def close(self) -> None:
        """Commit what is queued and close. Leases are left to whoever comes next."""
        await self._reader.close()
        await self._writer.close()  # last, so that it folds the write-ahead log into the file

    # -- messages and turns

    async def accept(self, messages: Sequence[InboundMessage], hold: float = 0.0) -> list[Literal["new", "duplicate"]]:
        """See Ledger."""
        return await self._writer.run(
            lambda db: inbox.accept(db, messages, hold, self._now()), lambda _: self._call_for_turns()
        )

    async def claim(self, owner: str, limit: int) -> Claims:
        """See Ledger. Raises NotTheWorker."""
        self._must_work()
        self._turns_stir.clear()
        before, self._asked_for = self._asked_for, self._asked_for + limit
        fresh = self._asked_for // FRESH_EVERY - before // FRESH_EVERY
        claiming = self._writer.run(lambda db: turns.claim(db, owner, limit, self._lease, self._now(), fresh))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            with suppress(LedgerUnavailable):
                for turn in (await claiming).turns:
                    await self.release(turn)
            raise

    async def renew(self, turn: Turn) -> Turn:
        """See Ledger."""
        until = self._now() + self._lease
        await self._writer.run(lambda db: turns.renew(db, turn, until))
        return replace(turn, lease_until=until)

    async def finish(self, turn: Turn, end: Finish) -> None:
        """See Ledger."""

        def stir(next_due: tuple[float | None, float | None]) -> None:
            _set_if(self._turns_stir, next_due[0])
            _set_if(self._deliveries_stir, next_due[1])

        await self._writer.run(lambda db: turns.finish(db, turn, end, self._now()), stir)

    async def retry(self, turn: Turn, after: float, error: str) -> None:
        """See Ledger."""
        await self._writer.run(
            lambda db: turns.retry(db, turn, self._now() + after, error), lambda _: self._call_for_turns()
        )

    async def release(self, turn: Turn) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: turns.release(db, turn, self._now()), lambda _: self._call_for_turns())

    async def journal(self, turn: Turn, key: str) -> str | None:
        """See Ledger."""
        return await self._reader.run(lambda db: turns.journal(db, turn, key))

    async def record(self, turn: Turn, key: str, result: str) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: turns.record(db, turn, key, result))

    # -- deliveries

    async def due(self, owner: str, limit: int) -> DueDeliveries:
        """See Ledger. Raises NotTheWorker."""
        self._must_work()
        self._deliveries_stir.clear()
        lease = self._lease * SEND_LEASES
        taking = self._writer.run(lambda db: deliveries.due(db, owner, limit, lease, self._now()))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            with suppress(LedgerUnavailable):
                for delivery in (await taking).deliveries:
                    await self.postpone(delivery, 0.0, delivery.error, tried=False)
            raise

    async def delivered(self, delivery: Delivery, receipt: Receipt) -> None:
        """See Ledger."""
        await self._deliver(lambda db: deliveries.delivered(db, delivery, receipt, self._now()))

    async def postpone(self, delivery: Delivery, after: float, error: str, *, tried: bool = True) -> None:
        """See Ledger."""
        await self._deliver(lambda db: deliveries.postpone(db, delivery, self._now() + after, error, tried=tried))

    async def failed(self, delivery: Delivery, error: str) -> None:
        """See Ledger."""
        await self._deliver(lambda db: deliveries.failed(db, delivery, error, self._now()))

    async def report(self, connection_id: str, update: StatusUpdate) -> bool:
        """See Ledger."""
        return await self._writer.run(lambda db: deliveries.report(db, connection_id, update, self._now()))

    async def say(self, conversation: Conversation, pieces: Sequence[Piece]) -> None:
        """See Ledger."""

        def say(db: Database) -> float | None:
            now = self._now()
            return deliveries.queue(db, line_of(db, conversation, now), pieces, now)

        await self._deliver(say)
        self._writer.tell()

    async def move(self, connection_id: str, chat_id: str, new_chat_id: str) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: moves.move(db, connection_id, chat_id, new_chat_id), lambda _: self._call())

    # -- dead letters

    async def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """See Ledger."""
        return await self._reader.run(lambda db: letters.dead_letters(db, limit))

    async def replay(self, letter_id: str) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: letters.replay(db, letter_id, self._now()), lambda _: self._call())

    async def discard(self, letter_id: str, reason: str) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: letters.discard(db, letter_id, reason))

    # -- people

    async def erase(self, connection_id: str, person: str) -> Erased:
        """See Ledger."""
        return await self._writer.run(lambda db: erase.erase(db, connection_id, person), lambda _: self._call())

    # -- several gateways

    async def hold(self, name: str, owner: str, seconds: float) -> bool:
        """See Ledger."""
        return await self._writer.run(lambda db: holds.hold(db, name, owner, seconds, self._now()))

    async def let_go(self, owner: str, name: str = "") -> None:
        """See Ledger."""
        await self._writer.run(lambda db: holds.let_go(db, owner, name))

    async def forget(self, owner: str, turns: Collection[str], deliveries: Collection[str]) -> None:
        """See Ledger."""
        await self._writer.run(
            lambda db: holds.forget(db, owner, frozenset(turns), frozenset(deliveries), self._now()),
            lambda _: self._call(),
        )

    async def beat(self, owner: str, seconds: float) -> int:
        """See Ledger."""

        def stir(beaten: tuple[int, bool]) -> None:
            if beaten[1]:
                self._call()

        alive, _ = await self._writer.run(lambda db: holds.beat(db, owner, seconds, self._now()), stir)
        return alive

    # -- waking up

    async def wait_for_turns(self, seconds: float) -> None:
        """See Ledger."""
        await self._wait(self._turns_stir, seconds)

    async def wait_for_deliveries(self, seconds: float) -> None:
        """See Ledger."""
        await self._wait(self._deliveries_stir, seconds)

    async def _deliver(self, work: Callable[[Database], float | None]) -> None:
        await self._writer.run(work, lambda next_due: _set_if(self._deliveries_stir, next_due))

    async def _wait(self, stir: asyncio.Event, seconds: float) -> None:
        """Wait for a stir since the last claim; look for other processes' writes meanwhile."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not stir.is_set() and (left := end - loop.time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_SECONDS)):
                    await stir.wait()
                    return
            with suppress(LedgerUnavailable):  # the claim that follows meets the same trouble, and says so
                await self._writer.look()

    def _call_for_turns(self) -> None:
        self._turns_stir.set()
        self._writer.tell()

    def _call(self) -> None:
        self._stir()
        self._writer.tell()

    def _stir(self) -> None:
        self._turns_stir.set()
        self._deliveries_stir.set()

    def _must_work(self) -> None:
        if not self._worker:
            raise NotTheWorker(
                "This ledger was opened beside its worker, and takes no work.", fix="Open it with worker=True."
            )


def _set_if(stir: asyncio.Event, next_due: float | None) -> None:
    if next_due is not None:
        stir.set()
