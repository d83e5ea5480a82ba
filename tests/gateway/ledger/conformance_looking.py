"""Looking at a ledger as a whole: its pulse, and what must never be in it."""

from __future__ import annotations

from channels.adapter import Receipt
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import ConnectionPulse, Delivery, Finish, Turn
from gateway.ledger.sql.faults import RULES
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Route
from tests.gateway.ledger.support import (
    CHAT,
    LONG,
    OTHER,
    START,
    Store,
    answer,
    claim_one,
    due_one,
    message,
    piece,
    run_record,
    send,
)


class Looking:
    async def test_an_empty_ledger_has_no_pulse(self, ledger: Ledger) -> None:
        pulse = await ledger.pulse(60)
        assert (pulse.connections, pulse.oldest_open, pulse.oldest_unsent, pulse.newest) == ((), None, None, None)
        assert (pulse.unknown, pulse.run_seconds, pulse.tokens, pulse.gateways) == (0, (), 0, ())

    async def test_what_went_through_in_a_while_is_counted_by_connection(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)])
        await answer(ledger, piece("long ago"))
        await send(ledger)
        store.clock.advance(100)
        await ledger.accept([message(2), message(3, OTHER)])
        turn = await claim_one_of_two(ledger)
        await ledger.finish(turn, Finish("answered", [piece("a"), piece("b")], run=run_record("r1", turn)))
        await ledger.delivered(await due_one(ledger), Receipt("1"))
        await ledger.failed(await due_one(ledger), "refused")
        pulse = await ledger.pulse(60)
        assert pulse.connections == (ConnectionPulse("shop", received=2, answered=1, sent=1, failed=1),)
        assert (pulse.oldest_open, pulse.newest) == (START + 100, START + 100)
        assert (pulse.run_seconds, pulse.tokens) == ((), 0), "that run was long before"
        assert (await ledger.pulse(1000)).run_seconds == (1.0,)
        assert (await ledger.pulse(1000)).tokens == 30

    async def test_a_message_is_open_until_it_ends_and_a_piece_until_it_is_sent(
        self, ledger: Ledger, store: Store
    ) -> None:
        await ledger.accept([message(1)])
        store.clock.advance(5)
        assert (await ledger.pulse(60)).oldest_open == START
        turn = await claim_one(ledger)
        assert (await ledger.pulse(60)).oldest_open == START
        await ledger.retry(turn, 10, "later")
        assert (await ledger.pulse(60)).oldest_open == START
        store.clock.advance(10)
        await answer(ledger, piece("hello"))
        assert (await ledger.pulse(60)).oldest_open is None
        assert (await ledger.pulse(60)).oldest_unsent == START + 15
        await due_one(ledger)
        assert (await ledger.pulse(60)).oldest_unsent == START + 15
        await ledger.postpone(await self.again(ledger, store), 0, "later")
        await send(ledger)
        assert (await ledger.pulse(60)).oldest_unsent is None

    @staticmethod
    async def again(ledger: Ledger, store: Store) -> Delivery:
        """The delivery whose send was interrupted."""
        store.clock.advance(store.lease * LONG)
        return await due_one(ledger)

    async def test_gateways_that_live_are_named(self, ledger: Ledger, store: Store) -> None:
        await ledger.beat("one", 10)
        await ledger.beat("two", 30)
        assert (await ledger.pulse(60)).gateways == ("one", "two")
        store.clock.advance(20)
        assert (await ledger.pulse(60)).gateways == ("two",)

    async def test_a_ledger_at_work_has_no_faults(self, ledger: Ledger) -> None:
        await ledger.put_connection(Connection("shop", "telegram"), {"bot_token": b"sealed"})
        await ledger.change_routes(
            lambda _connections, _routes: RouteChange((Route("r1", "shop", "desk"),), "owner", "deploy")
        )
        await ledger.accept([message(1), message(2, OTHER), message(3, OTHER)])
        assert await ledger.faults() == []
        turn = await claim_one_of_two(ledger)
        assert await ledger.faults() == []
        await ledger.finish(turn, Finish("answered", [piece("a"), piece("b")]))
        assert await ledger.faults() == []
        await due_one(ledger)
        assert await ledger.faults() == []

    async def test_each_rule_that_is_broken_is_told(self, ledger: Ledger, store: Store) -> None:
        """The rules are broken by hand, which a ledger's own functions can't do."""
        await ledger.put_connection(Connection("shop", "telegram"), {"bot_token": b"sealed"})
        routes = (Route("r1", "shop", "desk"), Route("r2", "shop", "desk", enabled=False))
        await ledger.change_routes(lambda _connections, _routes: RouteChange(routes, "owner", "deploy"))
        await ledger.accept([message(1)])
        await answer(ledger, piece("hello"))
        await send(ledger)
        await ledger.accept([message(2), message(3, OTHER), message(4, CHAT)])
        turn = await claim_one_of_two(ledger)
        await ledger.finish(turn, Finish("answered", [piece("a")]))
        await claim_one(ledger)
        assert set(BROKEN) == {*RULES, "routes_clash", "delivery_unreadable", "message_unreadable"}
        for code, (sql, expected) in BROKEN.items():
            found = {fault.code for fault in store.broken(sql)}
            assert code in found, code
            assert found <= {code, *expected}, code
        assert await ledger.faults() == [], "each was undone"


BROKEN: dict[str, tuple[str, tuple[str, ...]]] = {
    "message_without_conversation": (
        "UPDATE messages SET conversation = 999, turn_id = NULL WHERE state = 'answered'",
        (),
    ),
    "turn_without_conversation": (
        "UPDATE turns SET conversation = 999 WHERE state = 'answered'",
        ("message_of_another_conversation",),
    ),
    "delivery_without_conversation": (
        "UPDATE deliveries SET conversation = 999 WHERE status = 'pending'",
        ("delivery_due_for_nothing",),
    ),
    "message_held_by_nobody": ("UPDATE messages SET state = 'claimed' WHERE state = 'answered'", ()),
    "message_of_two": ("UPDATE messages SET state = 'waiting' WHERE state = 'claimed'", ()),
    "message_of_another_conversation": (
        "UPDATE messages SET conversation = (SELECT max(id) FROM conversations) WHERE state = 'answered'",
        (),
    ),
    "two_turns_at_once": ("UPDATE turns SET state = 'running'", ("turn_never_due",)),
    "turn_never_due": ("UPDATE conversations SET turn_at = NULL", ()),
    "turn_due_for_nothing": ("UPDATE conversations SET turn_at = 1", ()),
    "delivery_never_due": ("UPDATE conversations SET delivery_at = NULL", ()),
    "delivery_due_for_nothing": ("UPDATE deliveries SET status = 'sent'", ()),
    "secret_of_nobody": ("UPDATE secrets SET connection_id = 'gone'", ()),
    "route_without_connection": ("UPDATE routes SET connection_id = 'gone' WHERE id = 'r1'", ()),
    "routes_clash": ("UPDATE routes SET enabled = 1", ()),
    "delivery_unreadable": ("UPDATE deliveries SET call = '{'", ()),
    "message_unreadable": ("UPDATE messages SET data = '[]'", ()),
}
"""What breaks each rule, and which others are broken with it."""


async def claim_one_of_two(ledger: Ledger) -> Turn:
    """The first of the conversations that wait."""
    (turn,) = (await ledger.claim("w1", 1)).turns
    return turn
