"""Comparing a file with what is: a round trip changes nothing, and nothing live ends with two owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gateway.declared.file import Declared, DeclaredConnection, DeclaredRoute, declared_route
from gateway.declared.plan import Plan, plan
from routes.connection import Connection
from routes.facts import AgentFacts, Facts
from routes.route import Access, Route
from routes.scope import Scope, overlap
from tests.routes.support import scopes

SHOP, TEAM = Connection("shop", "telegram", secret_names=("token",)), Connection("team", "slack")
AGENTS = ("desk", "orders")


def facts_of(agent_id: str, connections: list[Connection], routes: list[Route]) -> Facts:
    return Facts(connections, routes, {a: AgentFacts(a) for a in AGENTS})


def declared(*routes: DeclaredRoute, connections: Sequence[str] = ("shop",)) -> Declared:
    return Declared(connections={c: DeclaredConnection(channel="telegram") for c in connections}, routes=routes)


def compare(file: Declared, routes: Sequence[Route], wanted: Sequence[Connection] = (SHOP,), **fresh: str) -> Plan:
    secrets = {name: frozenset({value}) for name, value in fresh.items()}
    return plan(file, wanted, secrets, [SHOP, TEAM], routes, facts_of)


def test_a_new_route_gets_an_id_and_is_checked() -> None:
    found = compare(declared(DeclaredRoute(connection="shop", agent="desk")), [])
    assert [r.id for r in found.routes] == ["shop-desk"]
    assert found.blockers == ()
    assert [w.code for w in found.warnings] == ["broad_scope", "open_access", "connection_unverified"]
    assert [(s.action, s.what) for s in found.steps] == [("add", "route shop-desk")]


def test_what_a_file_does_not_list_is_disabled_on_its_connections_only() -> None:
    ours, theirs = Route("r1", "shop", "desk"), Route("r2", "team", "desk")
    found = compare(declared(), [ours, theirs])
    assert found.routes == (replace(ours, enabled=False),)
    assert [(s.action, s.what) for s in found.steps] == [("disable", "route r1")]


def test_a_route_is_known_by_what_it_is_about_or_by_its_id() -> None:
    now = Route("r1", "shop", "desk", Scope("dm"))
    same = DeclaredRoute.model_validate({"connection": "shop", "agent": "desk", "scope": {"kind": "dm"}})
    assert compare(declared(same), [now]).steps == ()
    renamed = same.model_copy(update={"id": "r1", "agent": "orders"})
    (step,) = compare(declared(renamed), [now]).steps
    assert (step.action, step.fields) == ("change", (("agentId", "desk", "orders"),))


def test_two_routes_of_one_file_that_share_a_message_block_each_other() -> None:
    both = declared(*(DeclaredRoute(connection="shop", agent=a) for a in AGENTS))
    assert {b.code for b in compare(both, []).blockers} == {"route_conflict"}


def test_replacing_a_live_route_by_a_conflicting_one_is_one_step() -> None:
    found = compare(declared(DeclaredRoute(connection="shop", agent="orders")), [Route("r1", "shop", "desk")])
    assert found.blockers == ()
    assert {r.id: r.enabled for r in found.routes} == {"r1": False, "shop-orders": True}


def test_every_blocker_of_the_preflight_blocks() -> None:
    gone = DeclaredRoute(connection="shop", agent="nobody")
    assert [b.code for b in compare(declared(gone), []).blockers] == ["agent_missing"]
    off = replace(SHOP, enabled=False)
    found = compare(declared(DeclaredRoute(connection="shop", agent="desk")), [], [off])
    assert [b.code for b in found.blockers] == ["connection_disabled"]


def test_a_secret_is_told_by_name_and_never_by_value() -> None:
    found = compare(declared(), [], shop="token")
    assert found.steps[0].fields == (("secret token", None, "set"),)


def test_the_fingerprint_stands_for_everything_that_would_be_written() -> None:
    one = declared(DeclaredRoute(connection="shop", agent="desk"))
    prints = {
        compare(one, []).fingerprint,
        compare(one, [Route("r1", "shop", "orders")]).fingerprint,
        compare(one, [], shop="token").fingerprint,
        compare(one, [], [replace(SHOP, label="x")]).fingerprint,
        compare(declared(), []).fingerprint,
    }
    assert len(prints) == 5
    assert compare(one, []).fingerprint in prints


routes_strategy = st.lists(
    st.builds(
        Route,
        id=st.sampled_from(["a", "b", "c", "d"]),
        connection_id=st.just("shop"),
        agent_id=st.sampled_from(AGENTS),
        scope=scopes.filter(lambda s: frozenset() not in s.sets),
        access=st.builds(Access, st.sampled_from(["open", "owner"])),
        fallback=st.booleans(),
        enabled=st.booleans(),
    ),
    max_size=4,
    unique_by=lambda r: r.id,
)


@given(routes_strategy, routes_strategy)
def test_a_plan_without_blockers_leaves_one_owner_and_makes_the_file_true(
    now: list[Route], wanted: list[Route]
) -> None:
    # What is live now is without conflicts, as the ledger keeps it.
    live = [r for n, r in enumerate(now) if not any(_clash(r, other) for other in now[:n] if other.enabled)]
    file = declared(*(declared_route(r) for r in wanted))
    found = compare(file, live)
    after = {r.id: r for r in [*live, *found.routes]}
    enabled = [r for r in after.values() if r.enabled]
    clashes = any(_clash(a, b) for n, a in enumerate(enabled) for b in enabled[:n])
    assert clashes == bool(found.blockers)
    if not found.blockers:
        again = compare(file, [*after.values()])
        assert (again.steps, again.routes) == ((), ())


@given(routes_strategy)
def test_a_round_trip_changes_nothing(now: list[Route]) -> None:
    file = declared(*(declared_route(r) for r in now))
    assert compare(file, now).steps == ()


def _clash(a: Route, b: Route) -> bool:
    if not (a.enabled and b.enabled and a.fallback == b.fallback):
        return False
    return a.fallback or overlap(a.scope, b.scope)
