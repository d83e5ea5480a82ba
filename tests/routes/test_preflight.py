"""Preflight: every code, told before a route goes live."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routes.connection import Connection
from routes.preflight import AgentFacts, ConnectionFacts, Facts, Preflight, Proposal, preflight
from routes.route import Access, Route, describe_route
from routes.scope import Scope
from tests.routes.support import UNIVERSE, route, scopes, tables

SHOP = Connection("shop", "telegram", status="ok", owners=("boss",))
TEAM = Connection("team", "slack", status="ok")
BROKEN = Connection("broken", "telegram", status="needs_attention", status_detail="the token was revoked")
OFF = Connection("off", "telegram", enabled=False)
NEW = Connection("new", "telegram")

AGENTS = {
    a.id: a
    for a in (
        AgentFacts("desk", revision="1"),
        AgentFacts("night"),
        AgentFacts("draft", "draft"),
        AgentFacts("old", "disabled"),
        AgentFacts("bent", problem="agent.json: label is missing"),
        AgentFacts("needy", missing_tools=("crm.read", "crm.write")),
    )
}

DM = Scope("dm")
NARROW = Scope("dm", senders=frozenset({"a"}))
QUIET = Proposal("shop", "desk", DM)
"""A proposal with nothing to be said about it."""


def facts(*routes: Route, **more: ConnectionFacts) -> Facts:
    return Facts([SHOP, TEAM, BROKEN, OFF, NEW], routes, AGENTS, more)


def check(proposal: Proposal, *routes: Route, **more: ConnectionFacts) -> Preflight:
    return preflight(proposal, facts(*routes, **more))


def codes(found: Preflight) -> tuple[list[str], list[str]]:
    return [f.code for f in found.blockers], [f.code for f in found.warnings]


def test_nothing_in_the_way() -> None:
    found = check(QUIET)
    assert codes(found) == ([], [])
    assert found.ok
    assert found.route == Route("shop-desk", "shop", "desk", DM)
    assert (found.available_connections, found.available_agents) == (("new", "shop"), ("desk", "night"))


@pytest.mark.parametrize(
    ("proposal", "blockers", "said"),
    [
        (replace(QUIET, connection_id="shup"), ["connection_missing"], "'shup'"),
        (replace(QUIET, connection_id="off"), ["connection_disabled"], "Connections you can use: new, shop."),
        (
            replace(QUIET, channel="slack"),
            ["channel_mismatch"],
            "on telegram, not on slack. Connections you can use: team",
        ),
        (replace(QUIET, channel="sms"), ["channel_mismatch"], "postroom connection add sms"),
        (replace(QUIET, connection_id="broken"), ["connection_unverified"], "the token was revoked"),
        (replace(QUIET, agent_id="desc"), ["agent_missing"], "Agents you can use: desk, night."),
        (replace(QUIET, agent_id="bent"), ["agent_invalid"], "label is missing"),
        (replace(QUIET, agent_id="draft"), ["agent_not_production"], "status draft"),
        (replace(QUIET, agent_id="old"), ["agent_not_production"], "status disabled"),
        (replace(QUIET, agent_id="needy"), ["tool_unavailable"], "crm.read, crm.write"),
        (
            Proposal("shup", "desc"),
            ["connection_missing", "agent_missing"],
            "postroom connection add CHANNEL --id shup",
        ),
    ],
)
def test_blockers_about_a_connection_and_an_agent(proposal: Proposal, blockers: list[str], said: str) -> None:
    found = check(proposal)
    assert codes(found)[0] == blockers
    assert not found.ok
    assert said in " ".join(f"{f.message} {f.fix}" for f in found.blockers)
    assert all(f.message and f.fix for f in found.blockers)


def test_what_is_available_is_on_the_channel_that_was_meant() -> None:
    assert check(replace(QUIET, connection_id="nothing")).available_connections == ("new", "shop", "team")
    assert check(replace(QUIET, connection_id="nothing", channel="slack")).available_connections == ("team",)
    assert check(replace(QUIET, connection_id="off")).available_connections == ("new", "shop")


def test_missing_tools_are_named_for_a_program_too() -> None:
    assert check(replace(QUIET, agent_id="needy")).blockers[0].details == {"tools": ["crm.read", "crm.write"]}


def test_a_conflict_names_the_routes_and_a_message_that_both_would_take() -> None:
    live = [
        route("r1", Scope("dm", senders=frozenset("a"), commands=frozenset("x")), agent="night"),
        route("r2", Scope("dm", senders=frozenset("b"))),
        route("r3", Scope("group")),
        route("r4", DM, enabled=False),
        route("r5", DM, connection="team"),
        route("r6", DM, fallback=True),
    ]
    found = check(replace(QUIET, agent_id="night"), *live)
    assert codes(found)[0] == ["route_conflict"]
    assert [r.id for r in found.conflicts] == ["r1", "r2"]
    blocker = found.blockers[0]
    assert blocker.routes == ("r1", "r2")
    assert blocker.message == (
        "Live already: r1 (agent night), r2 (agent desk). "
        "With 'r1' it would share a message from a in dm any chat saying /x."
    )
    assert blocker.details == {
        "count": 2,
        "sample": {"kind": "dm", "chat": "any chat", "thread": None, "sender": "a", "command": "x"},
    }


def test_a_conflict_with_very_many_is_told_in_short() -> None:
    live = [route(f"r{n:04}", Scope("dm", senders=frozenset({str(n)}))) for n in range(1000)]
    found = check(QUIET, *live)
    assert len(found.conflicts) == 1000
    assert len(found.blockers[0].routes) == 20
    assert found.blockers[0].details["count"] == 1000
    assert "and 995 more" in found.blockers[0].message


@given(tables(), scopes, st.booleans())
def test_a_conflict_is_found_exactly_when_a_message_would_have_two_owners(
    routes: list[Route], scope: Scope, fallback: bool
) -> None:
    found = check(Proposal("shop", "night", scope, fallback=fallback), *routes)
    live = [r for r in routes if r.enabled]
    after = [r for r in [*live, found.route] if not r.fallback]
    two = any(sum(r.scope.takes(m) for r in after) > 1 for m in UNIVERSE)
    assert [c for c in codes(found)[0] if c == "route_conflict"] == (["route_conflict"] if two else [])
    second = fallback and any(r.fallback for r in live)
    assert [c for c in codes(found)[0] if c == "second_fallback"] == (["second_fallback"] if second else [])


def test_there_is_one_fallback_whatever_its_scope() -> None:
    found = check(Proposal("shop", "night", Scope("group"), fallback=True), route("rest", DM, fallback=True))
    assert codes(found)[0] == ["second_fallback"]
    assert found.blockers[0].routes == ("rest",)


@pytest.mark.parametrize(
    ("proposal", "replaces", "id_"),
    [
        (Proposal("shop", "desk", DM), "one", "one"),
        (Proposal("shop", "desk", DM, fallback=True), "one", "one"),
        (Proposal("shop", "night", DM, route_id="one"), "one", "one"),
        (Proposal("shop", "desk", Scope(), route_id="one"), "one", "one"),
        (Proposal("team", "desk", DM, route_id="one"), "one", "one"),
        (Proposal("shop", "desk", NARROW), None, "shop-desk-3"),
        (Proposal("shop", "desk", DM, route_id="own-name"), None, "own-name"),
        (Proposal("shop", "night", DM), None, "shop-night"),
        (Proposal("shop", "desk", Scope("group")), "shop-desk", "shop-desk"),
    ],
)
def test_a_proposal_replaces_its_own_route_or_gets_a_readable_id(
    proposal: Proposal, replaces: str | None, id_: str
) -> None:
    live = [
        route("a-disabled-twin", DM, enabled=False),
        route("one", DM),
        route("shop-desk", Scope("group")),
        route("shop-desk-2", NARROW, agent="old", enabled=False),
    ]
    found = check(proposal, *live)
    assert (found.replaces.id if found.replaces else None, found.route.id) == (replaces, id_)
    assert found.route.enabled
    assert "one" not in [r.id for r in found.conflicts] or replaces != "one"


ROUTES: dict[str, Route] = {
    "everything": route("everything", agent="night"),
    "groups": route("groups", Scope("group"), agent="night"),
    "channels": route("channels", Scope("channel"), agent="night"),
    "rest": route("rest", fallback=True, agent="night"),
    "rest-of-dms": route("rest-of-dms", DM, fallback=True, agent="night"),
}
OWNER = Access("owner")


@pytest.mark.parametrize(
    ("proposal", "live", "warnings"),
    [
        (Proposal("shop", "desk"), [], ["broad_scope", "open_access"]),
        (Proposal("shop", "desk", access=OWNER), [], ["broad_scope"]),
        (Proposal("shop", "desk", access=OWNER, fallback=True), [], []),
        (Proposal("shop", "desk", fallback=True), [], ["open_access"]),
        (Proposal("shop", "desk", Scope("group")), [], ["open_access"]),
        (Proposal("shop", "desk", Scope("channel")), [], ["open_access"]),
        (Proposal("shop", "desk", Scope("group", senders=frozenset("a"))), [], []),
        (Proposal("shop", "desk", DM), ["rest"], []),
        (Proposal("shop", "desk", DM), ["rest-of-dms"], ["unreachable_route"]),
        (Proposal("shop", "desk", DM), ["rest", "groups", "channels"], ["unreachable_route"]),
        (Proposal("shop", "desk", access=OWNER), ["rest"], ["broad_scope", "unreachable_route"]),
        (Proposal("shop", "desk", access=OWNER, fallback=True), ["everything"], ["unreachable_route"]),
        (Proposal("shop", "desk", access=OWNER, fallback=True), ["groups", "channels"], []),
        (Proposal("shop", "desk", Scope("group"), OWNER, fallback=True), ["groups"], ["unreachable_route"]),
        (Proposal("team", "desk", DM, OWNER), [], ["unreachable_route"]),
        (Proposal("team", "desk", DM, Access("owner", frozenset("a"))), [], ["unreachable_route"]),
        (Proposal("team", "desk", DM, Access("allowlist")), [], ["unreachable_route"]),
        (Proposal("team", "desk", DM, Access("allowlist", frozenset("a"))), [], []),
        (Proposal("team", "desk", DM, Access("pairing")), [], []),
        (Proposal("shop", "desk", NARROW, OWNER), [], ["unreachable_route"]),
        (Proposal("shop", "desk", NARROW, Access("allowlist", frozenset("b"))), [], ["unreachable_route"]),
        (Proposal("shop", "desk", NARROW, Access("allowlist", frozenset("ab"))), [], []),
        (Proposal("new", "desk", DM), [], ["connection_unverified"]),
    ],
)
def test_warnings(proposal: Proposal, live: list[str], warnings: list[str]) -> None:
    found = check(proposal, *(ROUTES[name] for name in live))
    assert codes(found)[1] == warnings
    assert all(f.message and f.fix for f in found.warnings)
    assert found.ok


@pytest.mark.parametrize(
    ("scope", "more", "warnings"),
    [
        (DM, ConnectionFacts(needs_public_url=True), ["no_public_url"]),
        (DM, ConnectionFacts(needs_public_url=True, public_url=True), []),
        (DM, ConnectionFacts(public_url=False), []),
        (DM, ConnectionFacts(privacy_mode=True), []),
        (Scope("group", senders=frozenset("a")), ConnectionFacts(privacy_mode=True), ["privacy_mode"]),
        (Scope("group", senders=frozenset("a")), ConnectionFacts(privacy_mode=False), []),
        (Scope("any", senders=frozenset("a")), ConnectionFacts(privacy_mode=True), ["privacy_mode"]),
        (Scope("any", senders=frozenset("a"), commands=frozenset("x")), ConnectionFacts(privacy_mode=True), []),
    ],
)
def test_warnings_about_what_can_arrive(scope: Scope, more: ConnectionFacts, warnings: list[str]) -> None:
    assert codes(check(Proposal("shop", "desk", scope), shop=more))[1] == warnings


LIVE = route("live", NARROW, agent="night")


@pytest.mark.parametrize(
    "changed",
    [
        {"connections": [replace(SHOP, status="unverified")]},
        {"connections": [replace(SHOP, owners=())]},
        {"connections": [replace(SHOP, channel="slack")]},
        {"connections": []},
        {"routes": []},
        {"routes": [replace(LIVE, enabled=False)]},
        {"routes": [replace(LIVE, agent_id="desk")]},
        {"routes": [replace(LIVE, access=OWNER)]},
        {"routes": [LIVE, route("late", Scope("channel"))]},
        {"agents": {"desk": AgentFacts("desk", revision="2")}},
        {"agents": {"desk": AgentFacts("desk", "draft", revision="1")}},
        {"agents": {}},
        {"more": {"shop": ConnectionFacts(privacy_mode=True)}},
    ],
)
def test_the_fingerprint_changes_with_what_was_read(changed: dict[str, Any]) -> None:
    before = Facts([SHOP], [LIVE], AGENTS)
    assert preflight(QUIET, replace(before, **changed)).fingerprint != preflight(QUIET, before).fingerprint


def test_the_fingerprint_stands_for_the_proposal_too() -> None:
    asked = [
        QUIET,
        replace(QUIET, agent_id="night"),
        replace(QUIET, scope=Scope("group")),
        replace(QUIET, access=OWNER),
        replace(QUIET, fallback=True),
        replace(QUIET, channel="telegram"),
        replace(QUIET, route_id="mine"),
    ]
    assert len({check(proposal, LIVE).fingerprint for proposal in asked}) == len(asked)


def test_the_fingerprint_is_the_same_for_the_same_and_ignores_what_is_elsewhere() -> None:
    other = route("other", connection="team")
    late = route("late", Scope("channel"))
    again = Facts([NEW, replace(SHOP, label="Our shop")], [late, other, LIVE], {**AGENTS, "new": AgentFacts("new")})
    assert preflight(QUIET, again).fingerprint == check(QUIET, LIVE, late).fingerprint


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    crowd = frozenset("abcdefgh")
    proposal = Proposal("shop", "desk", Scope("dm", senders=crowd), Access("allowlist", crowd))
    assert check(proposal, LIVE).fingerprint == "7abb9e48c2f0809ec194284f05ad50fa"


def test_a_preflight_is_shown_as_plain_json() -> None:
    found = check(replace(QUIET, route_id="mine"), LIVE, replace(LIVE, id="mine", enabled=False))
    (blocker,) = found.blockers
    assert json.loads(json.dumps(found.describe())) == {
        "ok": False,
        "route": describe_route(found.route),
        "replaces": describe_route(replace(LIVE, id="mine", enabled=False)),
        "blockers": [
            {
                "code": "route_conflict",
                "message": blocker.message,
                "fix": blocker.fix,
                "routes": ["live"],
                "details": blocker.details,
            }
        ],
        "warnings": [],
        "available": {"connections": ["new", "shop"], "agents": ["desk", "night"]},
        "fingerprint": found.fingerprint,
    }
    assert check(QUIET).describe()["replaces"] is None
