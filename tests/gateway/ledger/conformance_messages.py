"""What must hold when messages come in."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from channels.message import Conversation, Sender
from gateway.ledger.errors import NotFound
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Finish
from tests.gateway.ledger.support import (
    CHAT,
    OTHER,
    START,
    Store,
    answer,
    claim,
    claim_one,
    message,
    states,
    texts,
)


class Messages:
    async def test_an_event_is_accepted_once(self, ledger: Ledger) -> None:
        assert await ledger.accept([message(1)]) == ["new"]
        assert await ledger.accept([message(1)]) == ["duplicate"]
        assert await states(ledger) == [("text 1", "waiting", "")]

    async def test_a_stored_message_comes_back_as_it_went_in(self, ledger: Ledger) -> None:
        await ledger.accept([message(1, text="naïve 👩‍👩‍👧 \u0000 text")])
        stored = await ledger.message(message(1).id)
        assert stored.message == message(1, text="naïve 👩‍👩‍👧 \u0000 text")
        assert (stored.state, stored.reason, stored.turn_id) == ("waiting", "", "")
        with pytest.raises(NotFound) as error:
            await ledger.message("nothing")
        assert error.value.fix

    async def test_any_known_key_makes_a_duplicate_and_all_its_keys_are_remembered(self, ledger: Ledger) -> None:
        assert await ledger.accept([message(1, keys=("a", "b"))]) == ["new"]
        assert await ledger.accept([message(2, keys=("b", "c"))]) == ["duplicate"]
        assert await ledger.accept([message(3, keys=("c",))]) == ["duplicate"]
        assert await ledger.accept([message(4, keys=("d", "d"))]) == ["new"]

    async def test_a_key_belongs_to_its_connection(self, ledger: Ledger) -> None:
        first, second = message(1, keys=("a",)), message(2, Conversation("team", "c1"), keys=("a",))
        assert await ledger.accept([first, second]) == ["new", "new"]

    async def test_a_duplicate_in_the_same_batch_is_one(self, ledger: Ledger) -> None:
        assert await ledger.accept([message(1), message(2), message(1)]) == ["new", "new", "duplicate"]

    async def test_keys_outlive_the_turn(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)])
        await answer(ledger)
        store.clock.advance(30 * 86_400)
        assert await ledger.accept([message(1)]) == ["duplicate"]
        assert await claim(ledger) == []

    async def test_one_of_many_racing_deliveries_of_an_event_is_new(self, ledger: Ledger) -> None:
        results = await asyncio.gather(*(ledger.accept([message(1)]) for _ in range(20)))
        assert sorted(r for result in results for r in result) == ["duplicate"] * 19 + ["new"]

    async def test_nothing_to_accept_is_no_error(self, ledger: Ledger) -> None:
        assert await ledger.accept([]) == []
        assert (await ledger.claim("w1", 10)).next_at is None

    async def test_accepting_goes_on_while_nobody_claims(self, ledger: Ledger, store: Store) -> None:
        for n in range(5):
            assert await ledger.accept([message(n)]) == ["new"]
            store.clock.advance(60)
        assert texts(await claim_one(ledger)) == [f"text {n}" for n in range(5)]

    async def test_when_somebody_last_wrote(self, ledger: Ledger, store: Store) -> None:
        assert await ledger.last_inbound("shop") is None
        await ledger.accept([message(1, sender="ann")])
        store.clock.advance(5)
        await ledger.accept([message(2, OTHER, sender="bob")])
        store.clock.advance(5)
        await ledger.accept([message(2, OTHER, sender="bob")])
        assert await ledger.last_inbound("shop") == START + 5
        assert await ledger.last_inbound("shop", "ann") == START
        assert await ledger.last_inbound("shop", "carol") is None
        assert await ledger.last_inbound("team") is None

    async def test_the_rhythm_in_which_messages_arrived(self, ledger: Ledger, store: Store) -> None:
        for n, conversation in enumerate((CHAT, OTHER, CHAT)):
            await ledger.accept([message(n, conversation)])
            store.clock.advance(5)
        await ledger.accept([message(2, CHAT), message(3, Conversation("team", "c1"))])
        assert await ledger.arrivals("shop") == [START + 10, START + 5, START]
        assert await ledger.arrivals("shop", limit=2) == [START + 10, START + 5]
        assert await ledger.arrivals("team") == [START + 15]
        assert await ledger.arrivals("nobody") == []

    async def test_a_listing_names_whom_one_talks_with(self, ledger: Ledger, store: Store) -> None:
        group = Conversation("shop", "g1", "topic")
        await ledger.accept([message(1, sender="ann"), message(2, sender="ann")])
        store.clock.advance(1)
        await ledger.accept([message(3, group, scope="group")])
        own = replace(message(4), sender=Sender("bot", "The bot", is_self=True))
        await ledger.accept([own])
        await claim(ledger)
        await ledger.accept([message(5, sender="ann")])
        listed = {c.conversation: c for c in await ledger.conversations()}
        assert (listed[CHAT].title, listed[CHAT].messages, listed[CHAT].waiting) == ("Ann", 4, 1)
        assert (listed[group].title, listed[group].scope, listed[group].channel) == ("g1", "group", "telegram")
        assert listed[group].last_at == START + 1
        store.clock.advance(1)
        await ledger.accept([message(6, OTHER)])
        assert [c.conversation for c in await ledger.conversations(limit=1)] == [OTHER]

    async def test_the_newest_messages_are_listed_oldest_first(self, ledger: Ledger) -> None:
        await ledger.accept([message(n) for n in range(5)])
        assert [m.message.text for m in await ledger.messages(CHAT.key, limit=2)] == ["text 3", "text 4"]
        assert await ledger.messages("shop/nobody") == []


class Twins:
    """A mention can come twice, once as a plain message, in either order. It must be answered, and once."""

    async def test_a_waiting_twin_is_upgraded(self, ledger: Ledger) -> None:
        await ledger.accept([message(1, keys=("e1", "ts"))])
        assert await ledger.accept([message(2, keys=("e2", "ts"), mentions=True)]) == ["duplicate"]
        turn = await claim_one(ledger)
        assert [(m.id, m.mentions_bot) for m in turn.messages] == [(message(1, keys=("e1", "ts")).id, True)]

    async def test_a_twin_ignored_for_lack_of_a_mention_does_not_swallow_it(self, ledger: Ledger) -> None:
        plain = message(1, keys=("e1", "ts"))
        await ledger.accept([plain])
        await ledger.finish(await claim_one(ledger), Finish("ignored", ignored={plain.id: "mention_required"}))
        mention = message(2, keys=("e2", "ts"), mentions=True)
        assert await ledger.accept([mention]) == ["new"]
        assert (await claim_one(ledger)).messages == (mention,)
        assert await ledger.accept([message(3, keys=("e3", "ts"), mentions=True)]) == ["duplicate"]

    async def test_the_same_event_may_come_back_with_its_mention(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        ignored = {message(1).id: "mention_required"}
        await ledger.finish(await claim_one(ledger), Finish("ignored", ignored=ignored))
        assert await ledger.accept([message(1, mentions=True)]) == ["new"]
        assert (await claim_one(ledger)).messages == (message(1, mentions=True),)

    async def test_a_twin_ignored_for_another_reason_stays_ignored(self, ledger: Ledger) -> None:
        plain = message(1, keys=("e1", "ts"))
        await ledger.accept([plain])
        await ledger.finish(await claim_one(ledger), Finish("ignored", ignored={plain.id: "not_allowed"}))
        assert await ledger.accept([message(2, keys=("e2", "ts"), mentions=True)]) == ["duplicate"]

    async def test_a_mention_that_comes_while_its_twin_is_being_ignored_waits_again(self, ledger: Ledger) -> None:
        plain = message(1, keys=("e1", "ts"))
        await ledger.accept([plain])
        turn = await claim_one(ledger)
        assert await ledger.accept([message(2, keys=("e2", "ts"), mentions=True)]) == ["duplicate"]
        await ledger.finish(turn, Finish("ignored", ignored={plain.id: "mention_required"}))
        again = await claim_one(ledger)
        assert again.messages == (replace(plain, mentions_bot=True),)
        await ledger.finish(again, Finish("ignored", ignored={plain.id: "mention_required"}))
        assert await claim(ledger) == []

    async def test_a_mention_that_comes_while_its_twin_is_answered_changes_nothing(self, ledger: Ledger) -> None:
        await ledger.accept([message(1, keys=("e1", "ts"))])
        turn = await claim_one(ledger)
        assert await ledger.accept([message(2, keys=("e2", "ts"), mentions=True)]) == ["duplicate"]
        await ledger.finish(turn, Finish("answered"))
        assert await claim(ledger) == []

    async def test_a_twin_of_a_twin_is_known_by_its_own_key(self, ledger: Ledger) -> None:
        await ledger.accept([message(1, keys=("e1", "ts"))])
        await ledger.accept([message(2, keys=("ts", "e2"))])
        assert await ledger.accept([message(3, keys=("e2",), mentions=True)]) == ["duplicate"]
        assert [m.mentions_bot for m in (await claim_one(ledger)).messages] == [True]

    async def test_a_plain_twin_after_the_mention_is_a_duplicate(self, ledger: Ledger) -> None:
        await ledger.accept([message(1, keys=("e1", "ts"), mentions=True)])
        assert await ledger.accept([message(2, keys=("e2", "ts"))]) == ["duplicate"]
        assert [m.mentions_bot for m in (await claim_one(ledger)).messages] == [True]


class Holds:
    """A hold gathers what belongs together, and changes no order."""

    async def test_a_turn_starts_when_its_hold_is_over(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)], hold=2.0)
        claims = await ledger.claim("w1", 10)
        assert (claims.turns, claims.next_at) == ((), START + 2)
        store.clock.advance(2)
        assert texts(await claim_one(ledger)) == ["text 1"]

    async def test_the_longest_hold_counts(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)], hold=2.0)
        store.clock.advance(1)
        await ledger.accept([message(2)], hold=2.0)
        await ledger.accept([message(3)], hold=0.5)
        await ledger.accept([message(4)])
        assert (await ledger.claim("w1", 10)).next_at == START + 3
        store.clock.advance(2)
        assert texts(await claim_one(ledger)) == ["text 1", "text 2", "text 3", "text 4"]

    async def test_a_hold_after_a_message_without_one_gathers_too(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        await ledger.accept([message(2)], hold=2.0)
        assert await claim(ledger) == []

    async def test_no_hold_lasts_longer_than_ten_seconds_after_the_first_message(
        self, ledger: Ledger, store: Store
    ) -> None:
        for n in range(12):
            await ledger.accept([message(n)], hold=2.0)
            store.clock.advance(1)
        assert len((await claim_one(ledger)).messages) == 12

    async def test_a_hold_does_not_outlast_its_turn(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)], hold=2.0)
        store.clock.advance(2)
        await answer(ledger)
        await ledger.accept([message(2)])
        assert texts(await claim_one(ledger)) == ["text 2"]

    async def test_a_hold_is_its_conversations_alone(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)], hold=2.0)
        await ledger.accept([message(2, OTHER)])
        assert texts(await claim_one(ledger)) == ["text 2"]
