"""One owner for each message, found by index and the same as by asking every route."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.message import InboundMessage
from routes import shelves
from routes.resolve import LISTED, Considered, RouteTable
from routes.route import Route
from routes.scope import Scope, coordinates
from routes.shelves import Shelves
from tests.routes.support import UNIVERSE, message, owners, route, scopes, tables

DM = Scope("dm")
spreads = st.sampled_from([1, shelves.SPREAD])
"""With a spread of 1, every scope with a set of three values or more is too wide to be filed by all it names."""


@given(tables(), spreads)
def test_resolving_finds_what_asking_every_route_finds(routes: list[Route], spread: int) -> None:
    with patch.object(shelves, "SPREAD", spread):
        table = RouteTable(routes)
        for each in UNIVERSE:
            found = table.resolve(each)
            expected = owners(each, routes)
            assert [found.route] == (expected or [None])
            if found.route is None:
                live = any(r.enabled for r in routes)
                assert found.reason == ("no_route" if live else "connection_has_no_routes")


@given(st.lists(scopes, max_size=5), spreads)
def test_several_owners_are_nobody(some: list[Scope], spread: int) -> None:
    routes = [route(f"r{n}", scope, fallback=n == 0) for n, scope in enumerate(some)]
    with patch.object(shelves, "SPREAD", spread):
        table = RouteTable(routes)
        for each in UNIVERSE:
            if len(owners(each, routes)) > 1:
                assert (table.resolve(each).route, table.resolve(each).reason) == (None, "route_conflict")


def test_two_fallbacks_own_nothing() -> None:
    table = RouteTable([route("r1", fallback=True), route("r2", fallback=True)])
    assert table.resolve(message()).reason == "route_conflict"
    assert {c.verdict for c in table.explain(message()).considered} == {"takes"}


def test_connections_are_apart() -> None:
    table = RouteTable([route("r1"), route("r2", connection="team", enabled=False)])
    assert table.resolve(message()).route == route("r1")
    assert table.resolve(message(connection="team")).reason == "connection_has_no_routes"
    assert table.resolve(message(connection="line")).reason == "connection_has_no_routes"


def wide(n: int) -> Scope:
    return Scope("dm", frozenset(f"{n}.{i}" for i in range(200)), None, frozenset(map(str, range(200))))


def only(value: object) -> frozenset[str]:
    return frozenset({str(value)})


@pytest.mark.parametrize(
    ("scope_of", "message_to"),
    [
        (lambda n: Scope(senders=only(n)), lambda n: message(sender=str(n))),
        (lambda n: Scope("group", chats=only(n)), lambda n: message("group", str(n))),
        (lambda n: Scope("group", only(1), only(n)), lambda n: message("group", "1", str(n))),
        (
            lambda n: Scope(chats=only(n // 10), senders=only(n % 10), commands=frozenset("xy")),
            lambda n: message(chat=str(n // 10), sender=str(n % 10), command="y"),
        ),
        (
            lambda n: Scope("dm", **{("chats", "threads", "senders", "commands")[n % 4]: only(n)}),
            lambda n: message(**{("chat", "thread", "sender", "command")[n % 4]: str(n)}),
        ),
    ],
)
def test_however_many_routes_only_the_right_one_is_asked(
    scope_of: Callable[[int], Scope], message_to: Callable[[int], InboundMessage]
) -> None:
    routes = [route(f"r{n}", scope_of(n)) for n in range(2000)]
    index = Shelves(routes)
    for n in (0, 7, 1001, 1998):
        assert list(index.at(coordinates(message_to(n)))) == [routes[n]]


def test_one_very_long_list_of_senders_is_still_filed_by_all_it_names() -> None:
    crowd = [frozenset(f"{n}.{i}" for i in range(15_000)) for n in range(3)]
    routes = [route(f"r{n}", Scope(chats=frozenset({"1"}), senders=some)) for n, some in enumerate(crowd)]
    assert list(Shelves(routes).at(coordinates(message(chat="1", sender="2.77")))) == [routes[2]]


def test_a_scope_that_is_wide_in_two_dimensions_is_filed_by_one_and_still_found() -> None:
    routes = [route(f"r{n}", wide(n)) for n in range(3)]
    table = RouteTable(routes)
    assert table.resolve(message(chat="1.199", sender="199")).route == routes[1]
    assert table.resolve(message(chat="1.199", sender="200")).reason == "no_route"
    assert list(Shelves(routes).overlapping(wide(2))) == [routes[2]] * 200


def test_an_explanation_says_why_each_route_did_or_did_not_take_a_message() -> None:
    routes = [
        route("other-chat", Scope("dm", chats=frozenset("2"))),
        route("far", Scope("group", frozenset("2"), frozenset("t"))),
        route("mine", Scope("dm", chats=frozenset("1"))),
        route("off", DM, enabled=False),
        route("rest", fallback=True),
        route("elsewhere", connection="team"),
    ]
    told = RouteTable(routes).explain(message("dm", "1"))
    assert told.resolution.route == routes[2]
    assert told.considered == (
        Considered(routes[2], "takes"),
        Considered(routes[3], "disabled"),
        Considered(routes[4], "fallback_not_needed"),
        Considered(routes[0], "scope_differs", ("chats",)),
        Considered(routes[1], "scope_differs", ("kind", "chats", "threads")),
    )
    assert told.omitted == 0
    rest = RouteTable(routes).explain(message("channel", "5"))
    assert (rest.resolution.route, rest.considered[0]) == (routes[4], Considered(routes[4], "takes"))


def test_an_explanation_is_short_and_names_the_nearest() -> None:
    routes = [route(f"r{n:03}", Scope("group", chats=frozenset({str(n)}))) for n in range(200)]
    near = route("z", Scope("dm", chats=frozenset("0")))
    told = RouteTable([*routes, near]).explain(message("dm", "7"))
    assert told.resolution.reason == "no_route"
    assert [c.route.id for c in told.considered[:2]] == ["r007", "z"]
    assert (len(told.considered), told.omitted) == (LISTED, 201 - LISTED)
    nobody = RouteTable([]).explain(message())
    assert (nobody.resolution.reason, nobody.considered, nobody.omitted) == ("connection_has_no_routes", (), 0)
