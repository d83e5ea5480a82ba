"""What must hold of deliveries: in order, one at a time, and honest about what may have been sent."""

from __future__ import annotations

import asyncio

import pytest

from channels.adapter import Call, Receipt
from channels.message import Conversation, StatusUpdate
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Finish, Piece
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
    due_one,
    message,
    piece,
    said,
    send,
    session,
    states,
    statuses,
    texts,
)


class Sending:
    async def test_pieces_leave_in_order_and_one_at_a_time(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await answer(ledger, piece("a"), piece("b", purpose="notice"))
        await ledger.say(CHAT, [piece("c")])
        first = await due_one(ledger)
        assert (said(first), first.status, first.attempt, first.ambiguous) == ("a", "sending", 1, False)
        assert (first.conversation, first.turn_id, first.created_at) == (CHAT, turn.id, START)
        assert await due(ledger, "w2") == []
        await ledger.delivered(first, Receipt("m1"))
        second = await due_one(ledger)
        assert (said(second), second.purpose) == ("b", "notice")
        await ledger.delivered(second, Receipt("m2", state="queued"))
        third = await send(ledger)
        assert (said(third), third.turn_id) == ("c", "")
        assert await due(ledger) == []
        assert await statuses(ledger) == [("a", "sent"), ("b", "queued"), ("c", "sent")]
        assert [d.provider_ref for d in await ledger.deliveries(CHAT.key)] == ["m1", "m2", ""]

    async def test_a_call_comes_back_as_it_went_in(self, ledger: Ledger) -> None:
        call = Call("m", {"n": 1, "x": [None, {"é": 1.5}]}, "c1", is_group=True, plain={"t": "👩‍👩‍👧"})
        await ledger.say(CHAT, [Piece(call)])
        assert (await due_one(ledger)).call == call

    async def test_conversations_send_side_by_side_up_to_the_limit(self, ledger: Ledger, store: Store) -> None:
        for n in range(3):
            await ledger.say(Conversation("shop", f"c{n}"), [piece(f"{n}"), piece("later")])
            store.clock.advance(1)
        assert [said(d) for d in await due(ledger, limit=2)] == ["0", "1"]
        assert [said(d) for d in await due(ledger, limit=2)] == ["2"]

    async def test_racing_senders_never_share_a_delivery(self, ledger: Ledger) -> None:
        for n in range(20):
            await ledger.say(Conversation("shop", f"c{n}"), [piece(f"{n}")])
        taken = await asyncio.gather(*(due(ledger, f"w{n}", limit=5) for n in range(6)))
        assert sorted(said(d) for one in taken for d in one) == sorted(str(n) for n in range(20))

    async def test_something_can_be_said_where_nobody_wrote(self, ledger: Ledger) -> None:
        await ledger.say(OTHER, [piece("hello")])
        assert (await due_one(ledger)).conversation == OTHER
        assert [c.conversation for c in await ledger.conversations()] == [OTHER]

    async def test_a_postponed_delivery_is_sent_again_before_the_later_ones(self, ledger: Ledger, store: Store) -> None:
        await ledger.say(CHAT, [piece("a"), piece("b")])
        await ledger.say(OTHER, [piece("x")])
        first = next(d for d in await due(ledger) if said(d) == "a")
        await ledger.postpone(first, 5.0, "slow down")
        stored = await ledger.deliveries(CHAT.key)
        assert [(d.status, d.error) for d in stored] == [("pending", "slow down"), ("pending", "")]
        waiting = await ledger.due("w1", 10)
        assert (waiting.deliveries, waiting.next_at) == ((), START + 5)
        store.clock.advance(5)
        again = await due_one(ledger)
        assert (again.id, again.attempt, again.ambiguous) == (first.id, 2, False)
        await ledger.delivered(again, Receipt())
        assert said(await due_one(ledger)) == "b"
        assert [d.error for d in await ledger.deliveries(CHAT.key)] == ["", ""]

    async def test_a_delivery_given_back_untried_has_its_tries_left(self, ledger: Ledger) -> None:
        await ledger.say(CHAT, [piece("a")])
        for _ in range(3):
            delivery = await due_one(ledger)
            assert delivery.attempt == 1
            await ledger.postpone(delivery, 0.0, "the channel's pace", tried=False)

    @pytest.mark.parametrize("what", ["delivered", "postponed", "failed"])
    async def test_whatever_comes_of_a_send_wakes_who_waits_for_what_is_due_next(
        self, ledger: Ledger, what: str
    ) -> None:
        await ledger.say(CHAT, [piece("a"), piece("b")])
        delivery = await due_one(ledger)
        assert (await ledger.due("w1", 10)).deliveries == ()
        waiting = asyncio.create_task(ledger.wait_for_deliveries(60))
        await asyncio.sleep(0)
        match what:
            case "delivered":
                await ledger.delivered(delivery, Receipt())
            case "postponed":
                await ledger.postpone(delivery, 5.0, "slow down")
            case _:
                await ledger.failed(delivery, "refused")
        await asyncio.wait_for(waiting, 10)

    async def test_a_permanent_failure_is_a_dead_letter_and_blocks_nothing(self, ledger: Ledger) -> None:
        await ledger.say(CHAT, [piece("a"), piece("b")])
        await ledger.failed(await due_one(ledger), "blocked by the user")
        assert said(await send(ledger)) == "b"
        assert await statuses(ledger) == [("a", "failed"), ("b", "sent")]
        assert [(x.kind, x.error) for x in await ledger.dead_letters()] == [("delivery", "blocked by the user")]

    async def test_the_newest_deliveries_are_listed_oldest_first(self, ledger: Ledger) -> None:
        await ledger.say(CHAT, [piece(f"{n}") for n in range(5)])
        assert [said(d) for d in await ledger.deliveries(CHAT.key, limit=2)] == ["3", "4"]

    async def test_an_opt_out_stands_until_the_person_comes_back(self, ledger: Ledger) -> None:
        await ledger.set_opted_out("line", "+1", True)
        await ledger.set_opted_out("line", "+1", True)
        assert await ledger.opted_out("line", "+1")
        assert not await ledger.opted_out("line", "+2")
        assert not await ledger.opted_out("other", "+1")
        await ledger.set_opted_out("line", "+1", False)
        assert not await ledger.opted_out("line", "+1")

    async def test_a_waiting_sender_is_woken(self, ledger: Ledger) -> None:
        assert await due(ledger) == []
        waiting = asyncio.create_task(ledger.wait_for_deliveries(60))
        await asyncio.sleep(0)
        await ledger.accept([message(1)])
        await answer(ledger, piece("a"), piece("b"))
        await asyncio.wait_for(waiting, 10)
        await send(ledger)
        await asyncio.wait_for(ledger.wait_for_deliveries(60), 10)

    async def test_a_taking_given_up_half_way_leaves_nothing_in_doubt(self, ledger: Ledger) -> None:
        await ledger.say(CHAT, [piece("a")])
        taking = asyncio.create_task(ledger.due("w1", 10))
        await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        delivery = await due_one(ledger)
        assert (delivery.attempt, delivery.ambiguous) == (1, False)


class Doubt:
    """After a crash in the middle of a send nobody knows whether it arrived."""

    async def test_a_young_reply_is_sent_again_and_marked(self, store: Store) -> None:
        async with store.open() as ledger:
            await ledger.say(CHAT, [piece("a"), piece("b")])
            await due_one(ledger)
        store.clock.advance(store.lease * LONG)
        async with store.open() as ledger:
            again = await due_one(ledger)
            assert (said(again), again.attempt, again.ambiguous) == ("a", 2, True)
            await ledger.delivered(again, Receipt())
            assert (await due_one(ledger)).ambiguous is False

    @pytest.mark.parametrize(("purpose", "age"), [("notice", 0.0), ("reply", 600.0)])
    async def test_anything_else_waits_for_a_person(self, store: Store, purpose: str, age: float) -> None:
        async with store.open() as ledger:
            await ledger.say(CHAT, [piece("a", purpose=purpose), piece("b", purpose=purpose)])
            store.clock.advance(age)
            await due_one(ledger)
        store.clock.advance(store.lease * LONG)
        async with store.open() as ledger:
            following = await due_one(ledger)
            assert said(following) == "b"
            assert await statuses(ledger) == [("a", "unknown"), ("b", "sending")]
            (letter,) = await ledger.dead_letters()
            assert (letter.kind, letter.preview, letter.attempts) == ("delivery", "a", 1)
            assert "unknown" in letter.error

    async def test_an_expired_send_is_in_doubt_without_a_crash(self, ledger: Ledger, store: Store) -> None:
        await ledger.say(CHAT, [piece("a")])
        await due_one(ledger)
        store.clock.advance(store.lease * LONG)
        again = await due_one(ledger, "w2")
        assert (again.attempt, again.ambiguous) == (2, True)

    async def test_a_sender_that_lost_its_lease_decides_nothing(self, ledger: Ledger, store: Store) -> None:
        await ledger.say(CHAT, [piece("a")])
        stale = await due_one(ledger)
        store.clock.advance(store.lease * LONG)
        current = await due_one(ledger, "w2")
        await ledger.failed(stale, "stale")
        await ledger.postpone(stale, 0.0, "stale")
        assert await statuses(ledger) == [("a", "sending")]
        await ledger.delivered(current, Receipt("m1"))
        await ledger.failed(stale, "stale")
        await ledger.postpone(stale, 0.0, "stale")
        assert [(d.status, d.provider_ref) for d in await ledger.deliveries(CHAT.key)] == [("sent", "m1")]

    async def test_a_late_word_that_it_was_sent_counts(self, ledger: Ledger, store: Store) -> None:
        await ledger.say(CHAT, [piece("a", purpose="notice")])
        stale = await due_one(ledger)
        store.clock.advance(store.lease * LONG)
        assert await due(ledger) == []
        assert await statuses(ledger) == [("a", "unknown")]
        await ledger.delivered(stale, Receipt("m1"))
        assert await statuses(ledger) == [("a", "sent")]
        assert await ledger.dead_letters() == []


class Reports:
    async def _sent(self, ledger: Ledger, ref: str = "SM1") -> None:
        await ledger.say(CHAT, [piece("a")])
        await ledger.delivered(await due_one(ledger), Receipt(ref, state="queued"))

    async def _status(self, ledger: Ledger) -> str:
        return (await statuses(ledger))[-1][1]

    async def test_states_only_move_forward(self, ledger: Ledger) -> None:
        await self._sent(ledger)
        for state, then in [
            ("sent", "sent"),
            ("queued", "sent"),
            ("read", "read"),
            ("delivered", "read"),
            ("failed", "read"),
            ("nonsense", "read"),
        ]:
            assert await ledger.report("shop", StatusUpdate("delivery", state, "SM1")) is True
            assert await self._status(ledger) == then

    async def test_a_reported_failure_is_a_dead_letter_with_its_code(self, ledger: Ledger) -> None:
        await self._sent(ledger)
        update = StatusUpdate("delivery", "failed", "SM1", code="63016", detail="outside the window")
        assert await ledger.report("shop", update) is True
        assert [x.error for x in await ledger.dead_letters()] == ["63016: outside the window"]
        await ledger.report("shop", StatusUpdate("delivery", "delivered", "SM1"))
        assert await self._status(ledger) == "failed"

    async def test_a_report_about_something_else_is_no_delivery_of_ours(self, ledger: Ledger) -> None:
        await self._sent(ledger)
        assert await ledger.report("shop", StatusUpdate("delivery", "delivered", "SM2")) is False
        assert await ledger.report("team", StatusUpdate("delivery", "delivered", "SM1")) is False
        assert await ledger.report("shop", StatusUpdate("delivery", "delivered")) is False
        assert await self._status(ledger) == "queued"

    async def test_a_report_may_be_quicker_than_the_answer(self, ledger: Ledger) -> None:
        for state in ("delivered", "sent"):
            assert await ledger.report("shop", StatusUpdate("delivery", state, "SM1")) is False
        await self._sent(ledger)
        assert await self._status(ledger) == "delivered"
        assert await ledger.report("shop", StatusUpdate("delivery", "read", "SM1")) is True

    async def test_an_early_failure_is_a_dead_letter_too(self, ledger: Ledger) -> None:
        await ledger.report("shop", StatusUpdate("delivery", "failed", "SM1", code="30007"))
        await self._sent(ledger)
        assert [x.error for x in await ledger.dead_letters()] == ["30007"]


class Moves:
    """A chat that gets a new id takes everything along."""

    NEW = Conversation("shop", "-100")

    async def test_everything_moves(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.finish(turn, Finish("answered", [piece("a"), piece("b")], session=session("s1")))
        sending = await due_one(ledger)
        await ledger.accept([message(2)])
        await ledger.move("shop", "c1", "-100")
        await ledger.postpone(sending, 0.0, "moved")
        assert await ledger.session(CHAT, "front-desk") is None
        moved = await ledger.session(self.NEW, "front-desk")
        assert moved is not None
        assert (moved.id, moved.conversation) == ("s1", self.NEW)
        again = await due_one(ledger)
        assert (again.id, again.conversation, again.call.chat_id) == (sending.id, self.NEW, "-100")
        assert again.call.params == {"chat_id": "-100", "text": "a"}
        following = await claim_one(ledger)
        assert [m.conversation for m in following.messages] == [self.NEW]
        assert [c.conversation for c in await ledger.conversations()] == [self.NEW]
        assert await states(ledger) == []

    async def test_a_running_turn_ends_where_its_chat_is_now(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.move("shop", "c1", "-100")
        assert await claim(ledger, "w2") == []
        await ledger.finish(await ledger.renew(turn), Finish("answered", [piece("a")], session=session("s1")))
        assert await states(ledger, self.NEW) == [("text 1", "answered", "")]
        assert (await due_one(ledger)).conversation == self.NEW

    async def test_a_chat_joins_what_already_is_at_its_new_id(self, ledger: Ledger) -> None:
        topic, new_topic = Conversation("shop", "c1", "t"), Conversation("shop", "-100", "t")
        await ledger.accept([message(1), message(2, self.NEW), message(3, topic), message(4), message(5, OTHER)])
        await ledger.say(CHAT, [piece("a")])
        await ledger.say(self.NEW, [piece("b", self.NEW)])
        await ledger.move("shop", "c1", "-100")
        assert [s[0] for s in await states(ledger, self.NEW)] == ["text 1", "text 2", "text 4"]
        turns = {t.conversation: texts(t) for t in await claim(ledger)}
        assert turns == {self.NEW: ["text 1", "text 2", "text 4"], new_topic: ["text 3"], OTHER: ["text 5"]}
        assert [said(await send(ledger)), said(await send(ledger))] == ["a", "b"]
        summary = next(c for c in await ledger.conversations() if c.conversation == self.NEW)
        assert summary.messages == 3

    async def test_what_waits_goes_on_where_nothing_waited(self, ledger: Ledger) -> None:
        await ledger.accept([message(1, self.NEW)])
        await answer(ledger)
        await ledger.accept([message(2)])
        await ledger.say(CHAT, [piece("a")])
        await ledger.move("shop", "c1", "-100")
        assert (await claim_one(ledger)).conversation == self.NEW
        assert (await due_one(ledger)).conversation == self.NEW

    async def test_turns_that_ran_in_both_chats_end_before_the_next_begins(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1), message(2, self.NEW)])
        old, new = await claim(ledger)
        await ledger.move("shop", "c1", "-100")
        await ledger.accept([message(3, self.NEW)])
        await ledger.finish(old, Finish("answered"))
        assert await claim(ledger) == []
        store.clock.advance(store.lease * LONG)
        taken = await claim_one(ledger)
        assert (taken.id, taken.epoch > max(old.epoch, new.epoch)) == (new.id, True)
        await ledger.finish(taken, Finish("answered"))
        assert texts(await claim_one(ledger)) == ["text 3"]

    async def test_the_one_that_lost_its_lease_waits_for_the_other(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1), message(2, self.NEW)])
        old, new = await claim(ledger)
        await ledger.move("shop", "c1", "-100")
        store.clock.advance(store.lease * LONG)
        new = await ledger.renew(new)
        assert await claim(ledger) == []
        await ledger.finish(new, Finish("answered"))
        assert (await claim_one(ledger)).id == old.id

    async def test_the_fence_moves_along(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1), message(2, self.NEW)])
        old, new = await claim(ledger)
        await ledger.finish(new, Finish("answered"))
        for _ in range(3):
            store.clock.advance(store.lease * LONG)
            old = await claim_one(ledger)
        await ledger.move("shop", "c1", "-100")
        store.clock.advance(store.lease * LONG)
        assert (await claim_one(ledger)).epoch > old.epoch

    async def test_a_call_made_for_the_old_chat_is_readdressed_when_told_again(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.move("shop", "c1", "-100")
        await ledger.finish(turn, Finish("answered", [piece("a")]))
        sending = await due_one(ledger)
        assert sending.call.chat_id == "c1"
        await ledger.move("shop", "c1", "-100")
        await ledger.postpone(sending, 0.0, "moved")
        assert (await due_one(ledger)).call.chat_id == "-100"

    async def test_a_chat_id_that_is_a_number_stays_one(self, ledger: Ledger) -> None:
        call = Call("m", {"chat_id": -5, "n": 5, "text": "-5 x"}, "-5", plain={"chat_id": -5})
        await ledger.say(Conversation("shop", "-5"), [Piece(call)])
        await ledger.move("shop", "-5", "-100")
        assert (await due_one(ledger)).call == Call(
            "m", {"chat_id": -100, "n": 5, "text": "-5 x"}, "-100", plain={"chat_id": -100}
        )

    async def test_moving_a_chat_nobody_knows_changes_nothing(self, ledger: Ledger) -> None:
        await ledger.move("shop", "nobody", "-100")
        assert await ledger.conversations() == []
