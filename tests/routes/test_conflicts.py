"""Who would share a message with whom: by index, and the same as by going through every message."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from routes import conflicts, shelves
from routes.conflicts import first_clash, is_covered, rivals
from routes.route import Route
from routes.scope import Scope
from routes.shelves import Shelves
from tests.routes.support import UNIVERSE, route, scopes, share, tables
from tests.routes.test_resolve import spreads

anything = st.lists(
    st.builds(
        lambda scope, connection, fallback, enabled: route(
            "", scope, connection=connection, fallback=fallback, enabled=enabled
        ),
        scopes,
        st.sampled_from(["shop", "team"]),
        st.sampled_from([False, False, True]),
        st.sampled_from([True, True, False]),
    ),
    max_size=6,
).map(lambda routes: [replace(r, id=f"r{n}") for n, r in enumerate(routes)])


def clash(one: Route, other: Route) -> bool:
    live = one.enabled and other.enabled and one.id != other.id and one.connection_id == other.connection_id
    if not live or one.fallback != other.fallback:
        return False
    return one.fallback or share(one.scope, other.scope)


@given(st.lists(scopes, max_size=6), scopes, spreads)
def test_the_index_finds_what_shares_a_message(some: list[Scope], scope: Scope, spread: int) -> None:
    routes = [route(f"r{n}", each) for n, each in enumerate(some)]
    with patch.object(shelves, "SPREAD", spread):
        found = {r.id for r in Shelves(routes).overlapping(scope)}
    assert found == {r.id for r in routes if share(r.scope, scope)}


@given(anything, scopes, st.booleans())
def test_rivals_are_those_that_clash(routes: list[Route], scope: Scope, fallback: bool) -> None:
    new = route("new", scope, fallback=fallback)
    assert rivals(new, routes) == [r for r in routes if clash(new, r)]
    assert rivals(new, [new]) == []


@given(anything, st.sets(st.integers(0, 5)))
def test_a_clash_is_found_exactly_when_a_changed_route_has_one(routes: list[Route], picked: set[int]) -> None:
    changed = [r for n, r in enumerate(routes) if n in picked]
    found = first_clash(changed, routes)
    if found is None:
        assert not any(clash(one, other) for one in changed for other in routes)
    else:
        assert found[0] in changed
        assert clash(*found)


@given(tables(), scopes)
def test_a_scope_is_covered_when_nothing_is_left_of_it(routes: list[Route], scope: Scope) -> None:
    scoped = [r for r in routes if r.enabled and not r.fallback]
    left = [m for m in UNIVERSE if scope.takes(m) and not any(r.scope.takes(m) for r in scoped)]
    empty = not any(scope.takes(m) for m in UNIVERSE)
    assert is_covered(scope, scoped) == (not left) or empty


def test_a_scope_too_wide_to_go_through_counts_as_not_covered() -> None:
    scope = Scope(chats=frozenset("12"), senders=frozenset("abc"))
    assert is_covered(scope, [route("r1")])
    with patch.object(conflicts, "SPREAD", 5):
        assert not is_covered(scope, [route("r1")])
