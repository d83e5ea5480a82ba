"""What must hold of dead letters: kept, shown, put back in line once, or closed for good."""

from __future__ import annotations

import asyncio

import pytest

from channels.adapter import Receipt
from gateway.ledger.errors import NotFound
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Depths, Finish, Turn
from tests.gateway.ledger.support import (
    CHAT,
    LONG,
    OTHER,
    START,
    Store,
    claim,
    claim_one,
    due,
    due_one,
    message,
    piece,
    said,
    states,
    statuses,
    texts,
)


class DeadLetters:
    async def _kill(self, ledger: Ledger, n: int = 1) -> Turn:
        await ledger.accept([message(n)])
        turn = await claim_one(ledger)
        await ledger.finish(turn, Finish("dead", error="boom"))
        return turn

    async def test_both_kinds_are_listed_newest_first(self, ledger: Ledger, store: Store) -> None:
        turn = await self._kill(ledger)
        store.clock.advance(1)
        await ledger.say(OTHER, [piece("hello")])
        delivery = await due_one(ledger)
        await ledger.failed(delivery, "blocked")
        newest, oldest = await ledger.dead_letters()
        assert (newest.id, newest.kind, newest.conversation, newest.error) == (
            delivery.id,
            "delivery",
            OTHER,
            "blocked",
        )
        assert (newest.attempts, newest.at, newest.preview) == (1, START + 1, "hello")
        assert (oldest.id, oldest.kind, oldest.conversation, oldest.error) == (turn.id, "turn", CHAT, "boom")
        assert (oldest.attempts, oldest.at, oldest.preview) == (1, START, "text 1")
        assert await ledger.dead_letters(limit=1) == [newest]
        assert await ledger.depths() == Depths(0, 0, 0, 2)

    async def test_a_dead_turn_is_put_back_once_as_it_was(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.retry(turn, 0.0, "again")
        turn = await claim_one(ledger)
        await ledger.record(turn, "k", "done")
        await ledger.finish(turn, Finish("dead", error="boom"))
        results = await asyncio.gather(*(ledger.replay(turn.id) for _ in range(3)), return_exceptions=True)
        assert [type(r) for r in results if r is not None] == [NotFound, NotFound]
        assert await ledger.dead_letters() == []
        again = await claim_one(ledger)
        assert (again.id, again.attempt, again.messages) == (turn.id, 1, turn.messages)
        assert await ledger.journal(again, "k") == "done"
        with pytest.raises(NotFound):
            await ledger.replay(turn.id)
        await ledger.finish(again, Finish("answered"))
        assert await states(ledger) == [("text 1", "answered", "")]

    async def test_a_turn_that_dies_again_is_a_dead_letter_again(self, ledger: Ledger) -> None:
        turn = await self._kill(ledger)
        await ledger.replay(turn.id)
        await ledger.finish(await claim_one(ledger), Finish("dead", error="boom again"))
        assert [(x.id, x.error) for x in await ledger.dead_letters()] == [(turn.id, "boom again")]

    async def test_a_replayed_turn_waits_for_the_one_that_runs(self, ledger: Ledger, store: Store) -> None:
        dead = await self._kill(ledger, 1)
        await ledger.accept([message(2)])
        running = await claim_one(ledger)
        await ledger.accept([message(3)])
        await ledger.replay(dead.id)
        assert await claim(ledger, "w2") == []
        await ledger.finish(running, Finish("answered"))
        again = await claim_one(ledger)
        assert again.id == dead.id
        await ledger.finish(again, Finish("answered"))
        assert texts(await claim_one(ledger)) == ["text 3"]

    async def test_only_dead_messages_of_a_turn_come_back(self, ledger: Ledger) -> None:
        await ledger.accept([message(1), message(2), message(3)])
        turn = await claim_one(ledger)
        end = Finish("dead", ignored={message(1).id: "no_route"}, left=frozenset({message(3).id}), error="boom")
        await ledger.finish(turn, end)
        assert texts(await claim_one(ledger)) == ["text 3"]
        await ledger.replay(turn.id)
        assert [s[:2] for s in await states(ledger)] == [
            ("text 1", "ignored"),
            ("text 2", "claimed"),
            ("text 3", "claimed"),
        ]

    async def test_a_dead_turn_whose_messages_all_ended_otherwise_is_no_letter(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        await ledger.finish(await claim_one(ledger), Finish("dead", ignored={message(1).id: "no_route"}, error="boom"))
        assert await ledger.dead_letters() == []

    async def test_a_failed_delivery_is_put_back_once_before_the_later_ones(self, ledger: Ledger) -> None:
        await ledger.say(CHAT, [piece("a"), piece("b")])
        dead = await due_one(ledger)
        await ledger.failed(dead, "blocked")
        await ledger.replay(dead.id)
        with pytest.raises(NotFound):
            await ledger.replay(dead.id)
        again = await due_one(ledger)
        assert (again.id, again.attempt, again.ambiguous) == (dead.id, 1, False)
        await ledger.delivered(again, Receipt())
        assert said(await due_one(ledger)) == "b"

    async def test_a_delivery_in_doubt_is_put_back_still_marked(self, ledger: Ledger, store: Store) -> None:
        await ledger.say(CHAT, [piece("a", purpose="notice")])
        await due_one(ledger)
        store.clock.advance(store.lease * LONG)
        assert await due(ledger) == []
        (letter,) = await ledger.dead_letters()
        await ledger.replay(letter.id)
        assert (await due_one(ledger)).ambiguous is True

    async def test_a_discarded_letter_keeps_its_reason_and_never_comes_back(self, ledger: Ledger) -> None:
        turn = await self._kill(ledger)
        await ledger.say(OTHER, [piece("hello", OTHER)])
        delivery = await due_one(ledger)
        await ledger.failed(delivery, "blocked")
        for letter_id in (turn.id, delivery.id):
            await ledger.discard(letter_id, "customer called")
            for again in (ledger.replay(letter_id), ledger.discard(letter_id, "twice")):
                with pytest.raises(NotFound):
                    await again
        assert await ledger.dead_letters() == []
        ((_, state, reason),) = await states(ledger)
        assert (state, "boom" in reason, "customer called" in reason) == ("dead", True, True)
        (closed,) = await ledger.deliveries(OTHER.key)
        assert (closed.status, "customer called" in closed.error) == ("discarded", True)
        assert await claim(ledger) == []
        assert await due(ledger) == []

    async def test_a_letter_that_is_none_is_not_found(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.say(CHAT, [piece("a")])
        for letter_id in ("nothing", turn.id, (await due_one(ledger)).id):
            with pytest.raises(NotFound) as error:
                await ledger.replay(letter_id)
            assert error.value.fix

    async def test_letters_are_handled_beside_a_working_process(self, ledger: Ledger, store: Store) -> None:
        turn = await self._kill(ledger)
        assert await claim(ledger) == []
        async with store.open(worker=False) as beside:
            waiting = asyncio.create_task(ledger.wait_for_turns(60))
            await beside.replay(turn.id)
            await asyncio.wait_for(waiting, 10)
        assert (await claim_one(ledger)).id == turn.id
        await ledger.say(CHAT, [piece("a")])
        assert await statuses(ledger) == [("a", "pending")]
