"""What must hold of turns: one at a time, in order, fenced, and never lost."""

from __future__ import annotations

import asyncio

import pytest

from channels.message import Conversation
from gateway.ledger.errors import LeaseLost
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Depths, Finish, Turn
from tests.gateway.ledger.support import (
    CHAT,
    LONG,
    OTHER,
    START,
    Store,
    answer,
    claim,
    claim_one,
    due,
    message,
    piece,
    run_record,
    send,
    session,
    states,
    statuses,
    texts,
)


class Order:
    async def test_a_turn_takes_all_that_waits_in_order_of_acceptance(self, ledger: Ledger) -> None:
        await ledger.accept([message(3), message(1)])
        await ledger.accept([message(2)])
        turn = await claim_one(ledger)
        assert texts(turn) == ["text 3", "text 1", "text 2"]
        assert (turn.conversation, turn.attempt, turn.owner) == (CHAT, 1, "w1")
        assert {m.turn_id for m in await ledger.messages(CHAT.key)} == {turn.id}

    async def test_one_turn_takes_fifty_messages_at_most(self, ledger: Ledger) -> None:
        await ledger.accept([message(n) for n in range(70)])
        assert texts(await answer(ledger)) == [f"text {n}" for n in range(50)]
        assert texts(await answer(ledger)) == [f"text {n}" for n in range(50, 70)]
        assert await claim(ledger) == []

    async def test_what_comes_while_a_turn_runs_is_the_next_turn(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.accept([message(2)])
        await ledger.accept([message(3)])
        assert await claim(ledger, "w2") == []
        await ledger.finish(turn, Finish("answered"))
        following = await claim_one(ledger)
        assert following.id != turn.id
        assert texts(following) == ["text 2", "text 3"]

    async def test_conversations_run_side_by_side(self, ledger: Ledger) -> None:
        topic = Conversation(CHAT.connection_id, CHAT.chat_id, "topic")
        await ledger.accept([message(1), message(2, OTHER), message(3, topic), message(4, Conversation("team", "c1"))])
        turns = await claim(ledger)
        assert [texts(t) for t in turns] == [["text 1"], ["text 2"], ["text 3"], ["text 4"]]
        assert turns[2].conversation == topic

    async def test_a_slow_turn_holds_up_nobody_else(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        await claim_one(ledger)
        await ledger.accept([message(2), message(3, OTHER)])
        assert texts(await answer(ledger)) == ["text 3"]

    async def test_at_most_the_limit_is_claimed_those_who_waited_longest_first(
        self, ledger: Ledger, store: Store
    ) -> None:
        for n in range(4):
            await ledger.accept([message(n, Conversation("shop", f"c{9 - n}"))])
            store.clock.advance(1)
        assert [texts(t) for t in await claim(ledger, limit=3)] == [["text 0"], ["text 1"], ["text 2"]]
        assert [texts(t) for t in await claim(ledger, limit=3)] == [["text 3"]]

    async def test_a_backlog_keeps_no_newcomer_from_a_first_answer(self, ledger: Ledger, store: Store) -> None:
        for n in range(30):
            await ledger.accept([message(n, Conversation("shop", f"c{n}"))])
            store.clock.advance(1)
        claimed = [texts(turn)[0] for _ in range(8) for turn in await claim(ledger, limit=1)]
        assert claimed == ["text 0", "text 1", "text 2", "text 29", "text 3", "text 4", "text 5", "text 28"]
        claimed = [texts(turn)[0] for turn in await claim(ledger, limit=8)]
        assert claimed == [f"text {n}" for n in (6, 7, 8, 9, 10, 11, 27, 26)]

    @pytest.mark.parametrize("pause", [0.0, 1.0])
    async def test_a_busy_conversation_starves_no_other(self, ledger: Ledger, store: Store, pause: float) -> None:
        await ledger.accept([message(n) for n in range(200)])
        store.clock.advance(pause)
        await ledger.accept([message(1000, OTHER)])
        store.clock.advance(pause)
        first = (await claim(ledger, limit=1))[0]
        await ledger.accept([message(n) for n in range(200, 220)])
        await ledger.finish(first, Finish("answered"))
        store.clock.advance(pause)
        second = (await claim(ledger, limit=1))[0]
        assert (first.conversation, second.conversation) == (CHAT, OTHER)

    async def test_racing_workers_never_share_a_conversation(self, ledger: Ledger) -> None:
        await ledger.accept([message(n, Conversation("shop", f"c{n}")) for n in range(30)])
        claimed = await asyncio.gather(*(claim(ledger, f"w{n}", limit=10) for n in range(6)))
        conversations = [turn.conversation for turns in claimed for turn in turns]
        assert len(conversations) == len(set(conversations)) == 30


class Leases:
    async def test_an_expired_turn_is_taken_over_as_it_was(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1), message(2)])
        turn = await claim_one(ledger)
        assert turn.lease_until == START + store.lease
        await ledger.accept([message(3)])
        store.clock.advance(store.lease * LONG)
        taken = await claim_one(ledger, "w2")
        assert (taken.id, taken.attempt, taken.owner, taken.messages) == (turn.id, 2, "w2", turn.messages)
        assert taken.epoch > turn.epoch
        await ledger.finish(taken, Finish("answered"))
        assert texts(await claim_one(ledger)) == ["text 3"]

    async def test_who_waits_is_told_when_a_lease_ends(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        assert (await ledger.claim("w2", 10)).next_at == turn.lease_until

    async def test_renewing_keeps_a_turn(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        for _ in range(4):
            store.clock.advance(store.lease * 0.8)
            turn = await ledger.renew(turn)
            assert turn.lease_until == store.clock.now + store.lease
            assert await claim(ledger, "w2") == []
        await ledger.finish(turn, Finish("answered"))

    async def test_a_worker_that_lost_its_lease_changes_nothing(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)])
        stale = await claim_one(ledger)
        store.clock.advance(store.lease * LONG)
        current = await claim_one(ledger, "w2")
        await self._refused(ledger, stale)
        end = Finish("answered", [piece("from w2")], session=session("s2"), run=run_record("run2", current))
        await ledger.finish(current, end)
        await self._refused(ledger, stale)
        assert await states(ledger) == [("text 1", "answered", "")]
        assert await statuses(ledger) == [("from w2", "pending")]
        assert [r.id for r in await ledger.runs(CHAT.key)] == ["run2"]
        assert await ledger.journal(current, "k") is None

    async def test_the_same_worker_can_lose_a_turn_to_itself(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)])
        stale = await claim_one(ledger, "w1")
        store.clock.advance(store.lease * LONG)
        current = await claim_one(ledger, "w1")
        await self._refused(ledger, stale)
        await ledger.finish(current, Finish("answered"))

    async def _refused(self, ledger: Ledger, stale: Turn) -> None:
        end = Finish("answered", [piece("stale")], session=session("s1", b"stale"), run=run_record("run1", stale))
        for attempt in (
            ledger.finish(stale, end),
            ledger.renew(stale),
            ledger.retry(stale, 0.0, "stale"),
            ledger.record(stale, "k", "stale"),
        ):
            with pytest.raises(LeaseLost):
                await attempt
        await ledger.release(stale)
        assert await claim(ledger, "w3") == []

    async def test_a_killed_process_loses_nothing(self, store: Store) -> None:
        async with store.open() as ledger:
            await ledger.accept([message(1), message(2, OTHER)])
            before = {turn.id: turn for turn in await claim(ledger)}
            await ledger.accept([message(3)])
        store.clock.advance(store.lease * LONG)
        async with store.open() as ledger:
            after = await claim(ledger, "w2")
            assert {t.id: t.messages for t in after} == {t.id: t.messages for t in before.values()}
            assert [t.attempt for t in after] == [2, 2]
            for turn in after:
                await ledger.finish(turn, Finish("answered"))
            assert texts(await claim_one(ledger)) == ["text 3"]


class Endings:
    async def test_finish_writes_everything_at_once(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        record = run_record("run1", turn)
        await ledger.finish(turn, Finish("answered", [piece("a"), piece("b")], session=session("s1"), run=record))
        assert await states(ledger) == [("text 1", "answered", "")]
        assert await statuses(ledger) == [("a", "pending"), ("b", "pending")]
        assert {d.turn_id for d in await ledger.deliveries(CHAT.key)} == {turn.id}
        assert await ledger.session(CHAT, "front-desk") == session("s1")
        assert await ledger.runs(CHAT.key) == [record]
        assert await ledger.depths() == Depths(0, 0, 2, 0)

    async def test_finish_writes_nothing_when_part_of_it_cannot_be_written(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        broken = run_record("run1", turn)
        broken.detail["oops"] = object()  # type: ignore[assignment]
        with pytest.raises(TypeError):
            await ledger.finish(turn, Finish("answered", [piece("a")], session=session("s1"), run=broken))
        assert await states(ledger) == [("text 1", "claimed", "")]
        assert await statuses(ledger) == []
        assert await ledger.session(CHAT, "front-desk") is None
        await ledger.finish(turn, Finish("answered", [piece("b")]))
        assert await statuses(ledger) == [("b", "pending")]

    async def test_each_ignored_message_keeps_its_reason(self, ledger: Ledger) -> None:
        await ledger.accept([message(1), message(2), message(3)])
        turn = await claim_one(ledger)
        ignored = {message(1).id: "no_route", message(3).id: "not_allowed"}
        await ledger.finish(turn, Finish("answered", ignored=ignored))
        assert await states(ledger) == [
            ("text 1", "ignored", "no_route"),
            ("text 2", "answered", ""),
            ("text 3", "ignored", "not_allowed"),
        ]

    async def test_left_messages_come_first_in_the_next_turn(self, ledger: Ledger) -> None:
        await ledger.accept([message(1), message(2), message(3)])
        turn = await claim_one(ledger)
        await ledger.accept([message(4)])
        await ledger.finish(turn, Finish("answered", left=frozenset({message(2).id, message(3).id})))
        following = await claim_one(ledger)
        assert texts(following) == ["text 2", "text 3", "text 4"]
        assert (following.attempt, following.id != turn.id) == (1, True)

    async def test_a_dead_turn_keeps_its_error(self, ledger: Ledger) -> None:
        await ledger.accept([message(1), message(2), message(3)])
        turn = await claim_one(ledger)
        end = Finish("dead", [piece("sorry")], {message(1).id: "no_route"}, frozenset({message(3).id}), error="boom")
        await ledger.finish(turn, end)
        assert await states(ledger) == [
            ("text 1", "ignored", "no_route"),
            ("text 2", "dead", "boom"),
            ("text 3", "waiting", ""),
        ]
        assert texts(await claim_one(ledger)) == ["text 3"]

    async def test_a_session_is_replaced_by_id_and_the_newest_is_the_agents(self, ledger: Ledger) -> None:
        for n, kept in enumerate((session("s1", b"1"), session("s1", b"2", last_at=START + 1))):
            await ledger.accept([message(n)])
            await ledger.finish(await claim_one(ledger), Finish("answered", session=kept))
        assert await ledger.session(CHAT, "front-desk") == session("s1", b"2", last_at=START + 1)
        await ledger.accept([message(9)])
        newer = session("s2", b"3", last_at=START + 2)
        await ledger.finish(await claim_one(ledger), Finish("answered", session=newer))
        assert await ledger.session(CHAT, "front-desk") == newer
        assert await ledger.session(CHAT, "another") is None
        assert await ledger.session(OTHER, "front-desk") is None

    async def test_the_newest_runs_are_listed_oldest_first(self, ledger: Ledger) -> None:
        for n in range(3):
            await ledger.accept([message(n)])
            turn = await claim_one(ledger)
            await ledger.finish(turn, Finish("answered", run=run_record(f"run{n}", turn)))
        assert [r.id for r in await ledger.runs(CHAT.key, limit=2)] == ["run1", "run2"]


class Retries:
    async def test_a_retried_turn_keeps_its_place_and_blocks_its_conversation_only(
        self, ledger: Ledger, store: Store
    ) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.retry(turn, 4.0, "model away")
        await ledger.accept([message(2), message(3, OTHER)])
        assert texts(await answer(ledger)) == ["text 3"]
        claims = await ledger.claim("w1", 10)
        assert (claims.turns, claims.next_at) == ((), START + 4)
        assert (await ledger.depths()).waiting_messages == 2
        store.clock.advance(4)
        again = await claim_one(ledger, "w2")
        assert (again.id, again.attempt, texts(again)) == (turn.id, 2, ["text 1"])
        await ledger.finish(again, Finish("answered"))
        assert texts(await claim_one(ledger)) == ["text 2"]

    async def test_a_given_back_turn_has_not_been_tried(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.release(turn)
        await ledger.release(turn)
        again = await claim_one(ledger, "w2")
        assert (again.id, again.attempt, again.messages) == (turn.id, 1, turn.messages)
        assert again.epoch > turn.epoch
        await ledger.release(turn)
        assert await claim(ledger) == []

    async def test_a_finished_side_effect_is_remembered_for_its_turn(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1), message(2, OTHER)])
        turn, other = await claim(ledger)
        assert await ledger.journal(turn, "k") is None
        await ledger.record(turn, "k", "done")
        assert await ledger.journal(turn, "k") == "done"
        assert await ledger.journal(other, "k") is None
        store.clock.advance(store.lease * LONG)
        for taken in await claim(ledger, "w2"):
            assert await ledger.journal(taken, "k") == ("done" if taken.id == turn.id else None)


class Waking:
    async def test_a_waiting_worker_is_woken_by_a_message(self, ledger: Ledger) -> None:
        assert await claim(ledger) == []
        waiting = asyncio.create_task(ledger.wait_for_turns(60))
        await asyncio.sleep(0)
        await ledger.accept([message(1)])
        await asyncio.wait_for(waiting, 10)

    async def test_a_message_between_claim_and_wait_is_not_missed(self, ledger: Ledger) -> None:
        assert await claim(ledger) == []
        await ledger.accept([message(1)])
        await asyncio.wait_for(ledger.wait_for_turns(60), 10)

    async def test_what_was_claimed_wakes_nobody_again(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        await answer(ledger, piece("a"))
        await send(ledger)
        assert await claim(ledger) == []
        assert await due(ledger) == []
        waiting = [
            asyncio.create_task(ledger.wait_for_turns(60)),
            asyncio.create_task(ledger.wait_for_deliveries(60)),
        ]
        for _ in range(5):
            await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()

    async def test_waiting_ends_by_itself(self, ledger: Ledger) -> None:
        await claim(ledger)
        await asyncio.wait_for(ledger.wait_for_turns(0.01), 10)
        await asyncio.wait_for(ledger.wait_for_deliveries(0.01), 10)

    @pytest.mark.parametrize("way", ["finish", "retry", "release"])
    async def test_a_worker_is_woken_by_what_a_turn_leaves(self, ledger: Ledger, way: str) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.accept([message(2)])
        assert await claim(ledger) == []
        if way == "finish":
            await ledger.finish(turn, Finish("answered"))
        elif way == "retry":
            await ledger.retry(turn, 1.0, "later")
        else:
            await ledger.release(turn)
        await asyncio.wait_for(ledger.wait_for_turns(60), 10)

    async def test_a_claim_given_up_half_way_leaves_nothing_claimed(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        claiming = asyncio.create_task(ledger.claim("w1", 10))
        await asyncio.sleep(0)
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claiming
        assert (await claim_one(ledger)).attempt == 1
