"""Erasing a person: their words go from every row, what keeps order stays, and nobody else loses anything."""

from __future__ import annotations

from dataclasses import replace

from channels.message import Conversation
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Finish
from tests.gateway.ledger.support import (
    CHAT,
    OTHER,
    answer,
    claim,
    claim_one,
    due,
    message,
    piece,
    run_record,
    said,
    session,
    states,
    statuses,
)

GROUP = Conversation("shop", "club")


class Erasing:
    async def test_a_private_conversation_is_blanked_and_loses_its_name(self, ledger: Ledger) -> None:
        await ledger.accept([message(1, sender="ann")])
        turn = await claim_one(ledger)
        end = Finish("answered", [piece("hello Ann")], session=session("s1", b'["x"]'), run=run_record("r1", turn))
        await ledger.finish(turn, end)
        erased = await ledger.erase("shop", "ann")
        assert (erased.messages, erased.conversations) == ((turn.messages[0].id,), (CHAT,))
        assert await ledger.messages(CHAT.key) == []
        (summary,) = await ledger.conversations()
        assert (summary.title, "c1" in summary.conversation.key) == ("erased", False)
        (kept,) = await ledger.messages(summary.conversation.key)
        assert (kept.state, kept.message.text, kept.message.sender.id, kept.message.raw) == (
            "answered",
            "",
            "erased",
            {},
        )
        (run,) = await ledger.runs(summary.conversation.key)
        assert (run.detail, run.input_tokens) == ({}, 10)
        assert await ledger.session(summary.conversation, "front-desk") is None
        (sent,) = await ledger.deliveries(summary.conversation.key)
        assert (sent.status, sent.call.params) == ("discarded", {})
        assert await due(ledger) == [], "what was not sent yet is not sent"
        assert await ledger.faults() == []

    async def test_in_a_group_only_their_turns_are_blanked(self, ledger: Ledger) -> None:
        for n, person in ((1, "ann"), (2, "bob")):
            await ledger.accept([message(n, GROUP, sender=person, scope="group")])
            await answer(ledger, piece(f"hello {person}", GROUP))
        erased = await ledger.erase("shop", "ann")
        assert erased.conversations == ()
        assert [m.message.text for m in await ledger.messages(GROUP.key)] == ["", "text 2"]
        (first, second) = await ledger.deliveries(GROUP.key)
        assert (first.status, first.call.params, said(second)) == ("discarded", {}, "hello bob")
        assert [said(d) for d in await due(ledger)] == ["hello bob"]
        assert await ledger.faults() == []

    async def test_what_waits_of_them_is_ignored_and_others_are_answered(self, ledger: Ledger) -> None:
        await ledger.accept(
            [message(1, GROUP, sender="ann", scope="group"), message(2, GROUP, sender="bob", scope="group")]
        )
        await ledger.accept([message(3, sender="ann"), message(4, OTHER, sender="bob")])
        await ledger.erase("shop", "ann")
        assert await states(ledger, GROUP) == [("", "ignored", "erased"), ("text 2", "waiting", "")]
        assert {t.conversation for t in await claim(ledger)} == {GROUP, OTHER}
        assert await ledger.faults() == []

    async def test_another_connection_and_a_name_within_a_name_are_left_alone(self, ledger: Ledger) -> None:
        elsewhere = Conversation("bar", "c1")
        longer = message(2, OTHER, sender="anna", text='they said "ann"')
        await ledger.accept([message(1, elsewhere, sender="ann"), longer])
        erased = await ledger.erase("shop", "ann")
        assert (erased.messages, erased.conversations) == ((), ())
        assert await states(ledger, elsewhere) == [("text 1", "waiting", "")]
        assert await states(ledger, OTHER) == [(longer.text, "waiting", "")]

    async def test_a_repeated_event_brings_nothing_back_and_a_new_one_begins_anew(self, ledger: Ledger) -> None:
        first = message(1, sender="ann")
        await ledger.accept([first])
        await ledger.set_opted_out("shop", "ann", out=True)
        await ledger.erase("shop", "ann")
        assert await ledger.accept([first]) == ["duplicate"]
        assert await ledger.accept([message(2, sender="ann")]) == ["new"]
        assert await states(ledger) == [("text 2", "waiting", "")]
        assert await ledger.opted_out("shop", "ann"), "or they would be written to again"
        assert await ledger.last_inbound("shop", "ann") is not None

    async def test_a_running_turn_goes_on_and_says_nothing_of_what_is_gone(self, ledger: Ledger) -> None:
        await ledger.accept([message(1, sender="ann")])
        turn = await claim_one(ledger)
        erased = await ledger.erase("shop", "ann")
        assert erased.conversations == (CHAT,)
        await ledger.finish(replace(turn), Finish("answered", [piece("hello Ann")]))
        (summary,) = [c for c in await ledger.conversations() if c.messages]
        assert [(m.state, m.message.text) for m in await ledger.messages(summary.conversation.key)] == [
            ("answered", "")
        ]
        assert await statuses(ledger, CHAT) == []
        assert await ledger.faults() == []
