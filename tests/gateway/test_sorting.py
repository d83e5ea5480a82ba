"""Which messages of a turn belong together."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from channels.message import Command, Conversation, InboundMessage, Sender
from gateway.sorting import sort_turn
from routes.connection import Connection
from routes.resolve import RouteTable
from routes.route import Access, Route
from routes.scope import Scope

SHOP = Connection("shop", "telegram")
DESK = Route("desk", "shop", "desk", Scope(senders=frozenset({"dana", "sam"})))
ADMIN = Route("admin", "shop", "admin", Scope(senders=frozenset({"root"})))
CLUB = Route("club", "shop", "club", Scope(senders=frozenset({"eve"})), Access("owner"))
TABLE = RouteTable([DESK, ADMIN, CLUB])


def said(n: int, who: str = "dana", **fields) -> InboundMessage:
    base = InboundMessage(
        id=f"{n:03}",
        connection_id="shop",
        channel="telegram",
        kind="message",
        dedupe_keys=(str(n),),
        conversation=Conversation("shop", "1"),
        scope="dm",
        sender=Sender(who),
        text=f"m{n}",
    )
    return replace(base, **fields)


def test_a_burst_of_one_route_is_one_turn():
    found = sort_turn([said(1), said(2, "sam"), said(3)], TABLE, SHOP)
    assert found.owned is not None
    assert [m.text for m in found.owned.messages] == ["m1", "m2", "m3"]
    assert (found.ignored, found.left) == ({}, frozenset())


def test_another_routes_message_and_all_after_it_are_left_in_place():
    found = sort_turn([said(1), said(2, "root"), said(3)], TABLE, SHOP)
    assert found.owned is not None
    assert found.owned.route == DESK
    assert found.owned.ids == {"001"}
    assert found.left == {"002", "003"}


def test_what_nobody_owns_is_ignored_by_name_and_splits_nothing():
    found = sort_turn([said(1), said(2, "nobody"), said(3, sender=Sender("dana", is_bot=True)), said(4)], TABLE, SHOP)
    assert found.owned is not None
    assert found.owned.ids == {"001", "004"}
    assert found.ignored == {"002": "no_route", "003": "bot_message"}


def test_a_stranger_due_an_answer_waits_for_those_before_and_ends_a_turn_of_their_own():
    found = sort_turn([said(1), said(2, "eve"), said(3)], TABLE, SHOP)
    assert found.owned is not None
    assert found.left == {"002", "003"}
    found = sort_turn([said(2, "eve"), said(3)], TABLE, SHOP)
    assert found.owned is None
    assert found.stranger is not None
    assert found.stranger.reason == "not_owner"
    assert (found.ignored, found.left) == ({"002": "not_owner"}, {"003"})


def test_an_album_is_one_message_whose_caption_speaks_for_all():
    group = [said(n, scope="group", group_id="g", text="", mentions_bot=n == 2) for n in (1, 2, 3)]
    found = sort_turn(group, TABLE, SHOP)
    assert found.owned is not None
    assert len(found.owned.messages) == 1
    assert found.owned.ids == {"001", "002", "003"}


WHO = st.sampled_from(["dana", "sam", "root", "eve", "nobody"])
KINDS = st.sampled_from(["message", "edit", "reaction", "action", "command"])


@given(st.lists(st.tuples(WHO, KINDS, st.sampled_from([None, "g", "h"])), min_size=1, max_size=12))
def test_every_message_is_owned_ignored_or_left_exactly_once_and_something_always_ends(rows):
    messages = [
        said(n, who, kind=kind, group_id=group, command=Command("x") if kind == "command" else None)
        for n, (who, kind, group) in enumerate(rows)
    ]
    found = sort_turn(messages, TABLE, SHOP)
    owned = found.owned.ids if found.owned else frozenset()
    parts = [owned, frozenset(found.ignored), found.left]
    assert sorted(i for part in parts for i in part) == [m.id for m in messages]
    assert owned or found.ignored, "a turn that ends nothing would be claimed for ever"
    if found.left and found.owned:
        assert max(owned) < min(found.left)
