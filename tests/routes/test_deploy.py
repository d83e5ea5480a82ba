"""Deciding changes: refused, stale, or one change that leaves every message with one owner."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routes.change import RouteChange
from routes.connection import Connection
from routes.deploy import (
    Decide,
    DeployRefused,
    PreflightStale,
    RouteUnknown,
    decide_deploy,
    decide_disable,
    decide_enable,
)
from routes.preflight import AgentFacts, Facts, Proposal, preflight
from routes.resolve import RouteTable
from routes.rollback import RollbackRefused, decide_rollback
from routes.route import Route
from routes.scope import Scope
from tests.routes.support import UNIVERSE, owners, route, scopes

SHOP = Connection("shop", "telegram")
AGENTS = {name: AgentFacts(name) for name in ("desk", "night")}
DM = Scope("dm")
GROUP = Scope("group")


def facts_of(connections: list[Connection], routes: list[Route]) -> Facts:
    return Facts(connections, routes, AGENTS)


@dataclass(frozen=True)
class Done:
    action: str
    before: tuple[Route, ...]
    after: tuple[Route, ...]


class Book:
    """The routes and their history, changed as a ledger would."""

    def __init__(self, *routes: Route) -> None:
        self.connections = [SHOP]
        self.routes = list(routes)
        self.history: list[Done] = []

    def change(self, decide: Decide) -> RouteChange:
        change = decide(self.connections, list(self.routes))
        touched = change.remove | {r.id for r in change.put}
        before = tuple(r for r in self.routes if r.id in touched)
        self.routes = sorted([*(r for r in self.routes if r.id not in touched), *change.put], key=lambda r: r.id)
        self.history.insert(0, Done(change.action, before, change.put))
        return change

    def roll_back(self) -> RouteChange:
        return self.change(decide_rollback(self.history))


def test_a_deploy_puts_the_route_live() -> None:
    book = Book()
    change = book.change(decide_deploy(Proposal("shop", "desk", DM), facts_of, by="ann"))
    assert change == RouteChange((Route("shop-desk", "shop", "desk", DM),), "deploy shop-desk", by="ann")


def test_the_same_deploy_again_changes_nothing() -> None:
    book = Book()
    book.change(decide_deploy(Proposal("shop", "desk", DM), facts_of))
    once = book.routes
    book.change(decide_deploy(Proposal("shop", "desk", DM), facts_of))
    assert book.routes == once
    book.roll_back()
    assert book.routes == []


def test_a_blocker_refuses_the_deploy_and_is_handed_over() -> None:
    book = Book(route("live", DM, agent="night"))
    with pytest.raises(DeployRefused) as error:
        book.change(decide_deploy(Proposal("shop", "desk"), facts_of))
    assert error.value.code == "deploy_refused"
    assert [b.code for b in error.value.preflight.blockers] == ["route_conflict"]
    assert "[route_conflict]" in error.value.message
    assert error.value.fix == error.value.preflight.blockers[0].fix


def test_conflicting_routes_are_disabled_in_the_same_change_and_named_when_asked() -> None:
    live = [route("dms", DM, agent="night"), route("groups", GROUP, agent="night")]
    live.append(route("rest", fallback=True, agent="night"))
    book = Book(*live)
    change = book.change(decide_deploy(Proposal("shop", "desk"), facts_of, disable_conflicting=True))
    assert change.action == "deploy shop-desk, disabling dms, groups"
    assert {r.id: r.enabled for r in book.routes} == {"dms": False, "groups": False, "rest": True, "shop-desk": True}


def test_a_second_fallback_takes_over_when_asked() -> None:
    book = Book(route("rest", fallback=True, agent="night"))
    change = book.change(decide_deploy(Proposal("shop", "desk", fallback=True), facts_of, disable_conflicting=True))
    assert change.action == "deploy shop-desk, disabling rest"


def test_disabling_what_conflicts_cures_nothing_else() -> None:
    book = Book(route("live", DM, agent="night"))
    with pytest.raises(DeployRefused) as error:
        book.change(decide_deploy(Proposal("shop", "nobody"), facts_of, disable_conflicting=True))
    assert [b.code for b in error.value.preflight.blockers] == ["agent_missing"]
    assert book.routes == [route("live", DM, agent="night")]


def test_a_stale_fingerprint_is_refused_before_all_else() -> None:
    proposal = Proposal("shop", "desk", DM)
    book = Book()
    seen = preflight(proposal, facts_of(book.connections, book.routes)).fingerprint
    book.change(decide_deploy(Proposal("shop", "night", DM), facts_of))
    with pytest.raises(PreflightStale) as error:
        book.change(decide_deploy(proposal, facts_of, fingerprint=seen, disable_conflicting=True))
    assert error.value.code == "preflight_stale"
    now = error.value.preflight
    assert [b.code for b in now.blockers] == ["route_conflict"]
    book.change(decide_deploy(proposal, facts_of, fingerprint=now.fingerprint, disable_conflicting=True))
    assert [r.id for r in book.routes if r.enabled] == ["shop-desk"]


def test_a_route_is_disabled_and_enabled_by_its_id() -> None:
    book = Book(route("r1", DM))
    assert book.change(decide_disable("r1", by="ann")).action == "disable r1"
    assert not book.routes[0].enabled
    assert book.change(decide_enable("r1", facts_of)).action == "enable r1"
    assert book.routes == [route("r1", DM)]


def test_enabling_is_checked_like_a_deploy() -> None:
    book = Book(route("r1", DM, enabled=False), route("r2", DM, agent="night"))
    with pytest.raises(DeployRefused) as error:
        book.change(decide_enable("r1", facts_of))
    assert error.value.preflight.blockers[0].routes == ("r2",)
    with pytest.raises(PreflightStale):
        book.change(decide_enable("r1", facts_of, fingerprint="another"))
    change = book.change(decide_enable("r1", facts_of, disable_conflicting=True))
    assert change.action == "enable r1, disabling r2"


@pytest.mark.parametrize("decide", [decide_disable("r9"), decide_enable("r9", facts_of)])
def test_a_route_that_is_not_there_is_an_error_with_those_that_are(decide: Decide) -> None:
    with pytest.raises(RouteUnknown) as error:
        Book(route("r1")).change(decide)
    assert (error.value.code, error.value.fix) == ("route_unknown", "Known routes: r1.")


def test_a_rollback_brings_back_what_a_deploy_replaced_and_disabled() -> None:
    live = [route("dms", DM, agent="night"), route("groups", GROUP)]
    book = Book(*live)
    book.change(decide_deploy(Proposal("shop", "desk", GROUP, fallback=True), facts_of))
    book.change(decide_deploy(Proposal("shop", "desk"), facts_of, disable_conflicting=True))
    book.roll_back()
    book.roll_back()
    assert book.routes == live
    with pytest.raises(RollbackRefused) as error:
        book.roll_back()
    assert error.value.code == "rollback_refused"
    assert error.value.fix


def test_a_rollback_is_refused_where_a_route_changed_since() -> None:
    first = Done("deploy", (route("r1", DM),), (route("r1", GROUP),))
    book = Book(route("r1", Scope("channel")))
    with pytest.raises(RollbackRefused, match="'r1' was changed again"):
        book.change(decide_rollback([first]))
    removed = Done("remove", (route("r1", DM),), ())
    with pytest.raises(RollbackRefused, match="'r1' was changed again"):
        book.change(decide_rollback([removed]))


def test_a_rollback_is_refused_where_what_comes_back_would_conflict() -> None:
    off = replace(route("r1", DM), enabled=False)
    book = Book(off, route("r2", Scope("dm", senders=frozenset("a"))))
    with pytest.raises(RollbackRefused, match="'r1' would conflict with 'r2'") as error:
        book.change(decide_rollback([Done("disable", (route("r1", DM),), (off,))]))
    assert "postroom route disable r2" in error.value.fix


def test_a_rollback_is_refused_where_the_connection_is_gone() -> None:
    book = Book()
    book.connections = []
    with pytest.raises(RollbackRefused, match="'shop', which is gone"):
        book.change(decide_rollback([Done("remove", (route("r1", DM),), ())]))


steps = st.lists(
    st.tuples(
        st.sampled_from(["deploy", "deploy", "deploy", "force", "disable", "enable", "rollback", "rollback"]),
        scopes,
        st.sampled_from(["desk", "night"]),
        st.sampled_from([False, False, True]),
        st.integers(0, 5),
    ),
    max_size=12,
)


@given(steps)
def test_whatever_is_done_no_message_has_two_owners_and_each_rollback_goes_back_one(
    todo: list[tuple[str, Scope, str, bool, int]],
) -> None:
    book = Book()
    past: list[list[Route]] = []
    for what, scope, agent, fallback, n in todo:
        before = book.routes
        picked = before[n % len(before)].id if before else "none"
        proposal = Proposal("shop", agent, scope, fallback=fallback)
        try:
            match what:
                case "rollback":
                    book.roll_back()
                    assert book.routes == past.pop()
                    continue
                case "disable":
                    book.change(decide_disable(picked))
                case "enable":
                    book.change(decide_enable(picked, facts_of))
                case _:
                    book.change(decide_deploy(proposal, facts_of, disable_conflicting=what == "force"))
        except (DeployRefused, RouteUnknown, RollbackRefused) as error:
            assert book.routes == before
            assert not isinstance(error, RollbackRefused) or not past
        if book.routes != before:
            past.append(before)
    table = RouteTable(book.routes)
    for message in UNIVERSE:
        found = owners(message, book.routes)
        assert len(found) <= 1
        assert table.resolve(message).route == (found[0] if found else None)
