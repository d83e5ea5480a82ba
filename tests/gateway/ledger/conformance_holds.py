"""What several workers on one ledger hold, and what becomes of a dead one's work."""

from __future__ import annotations

from channels.adapter import Receipt
from gateway.ledger.protocol import Ledger
from tests.gateway.ledger.support import CHAT, OTHER, Store, claim, claim_one, due, due_one, message, piece, statuses


class Gateways:
    async def test_one_holds_a_name_until_its_time_is_over(self, ledger: Ledger, store: Store) -> None:
        assert await ledger.hold("receive shop", "a", 6)
        assert not await ledger.hold("receive shop", "b", 6)
        store.clock.advance(5)
        assert await ledger.hold("receive shop", "a", 6)
        store.clock.advance(5)
        assert not await ledger.hold("receive shop", "b", 6)
        store.clock.advance(1)
        assert await ledger.hold("receive shop", "b", 6)
        assert not await ledger.hold("receive shop", "a", 6)

    async def test_what_is_let_go_is_free_at_once(self, ledger: Ledger) -> None:
        for name in ("one", "two"):
            assert await ledger.hold(name, "a", 60)
        await ledger.let_go("b")
        await ledger.let_go("a", "one")
        assert await ledger.hold("one", "b", 60)
        assert not await ledger.hold("two", "b", 60)
        await ledger.let_go("a")
        assert await ledger.hold("two", "b", 60)

    async def test_a_dead_gateways_work_is_free_before_its_leases_end(self, ledger: Ledger, store: Store) -> None:
        assert await ledger.beat("a", 10) == 1
        assert await ledger.beat("b", 10) == 2
        await ledger.accept([message(1), message(2, OTHER)])
        (mine,) = await claim(ledger, "a", 1)
        (theirs,) = await claim(ledger, "b", 1)
        await ledger.say(CHAT, [piece("a")])
        await due_one(ledger, "a")
        store.clock.advance(9)
        assert await ledger.beat("b", 10) == 2
        assert await claim(ledger, "b") == []
        store.clock.advance(2)
        assert await ledger.beat("b", 10) == 1
        again = await claim_one(ledger, "b")
        assert (again.id, again.attempt) == (mine.id, 2)
        assert again.id != theirs.id
        resent = await due_one(ledger, "b")
        assert resent.ambiguous

    async def test_work_whose_claim_got_lost_comes_back_untried(self, ledger: Ledger) -> None:
        await ledger.accept([message(1), message(2, OTHER)])
        kept, lost = await claim(ledger, "a")
        await ledger.say(CHAT, [piece("a")])
        await ledger.say(OTHER, [piece("b", OTHER)])
        sent, unsent = await due(ledger, "a")
        await ledger.forget("b", [], [])
        assert await claim(ledger, "a") == []
        await ledger.forget("a", [kept.id], [sent.id])
        again = await claim_one(ledger, "a")
        assert (again.id, again.attempt) == (lost.id, 1)
        delivery = await due_one(ledger, "a")
        assert (delivery.id, delivery.attempt, delivery.ambiguous) == (unsent.id, 1, False)
        await ledger.delivered(sent, Receipt())
        assert await statuses(ledger) == [("a", "sent")]
