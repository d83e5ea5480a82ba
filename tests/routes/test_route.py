"""Routes and access in their compact form, and as they are shown."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from routes.route import (
    Access,
    Route,
    access_from_json,
    access_to_json,
    describe_route,
    route_from_json,
    route_to_json,
)
from routes.scope import Scope
from tests.routes.support import scopes

accesses = st.builds(
    Access,
    policy=st.sampled_from(["open", "allowlist", "pairing", "owner"]),
    allow=st.frozensets(st.text(max_size=3), max_size=3),
    mention_required=st.booleans(),
    stranger=st.sampled_from(["polite", "silent"]),
)
routes = st.builds(
    Route,
    id=st.text(max_size=5),
    connection_id=st.text(max_size=5),
    agent_id=st.text(max_size=5),
    scope=scopes,
    access=accesses,
    fallback=st.booleans(),
    enabled=st.booleans(),
)


@given(accesses)
def test_access_comes_back_as_it_was(access: Access) -> None:
    assert access_from_json(access_to_json(access)) == access


@given(routes)
def test_a_route_comes_back_as_it_was(route: Route) -> None:
    assert route_from_json(route_to_json(route)) == route


def test_the_compact_form_is_the_same_for_the_same_access() -> None:
    assert access_to_json(Access("allowlist", frozenset("cba"))) == '["allowlist",["a","b","c"],true,"polite"]'


def test_a_route_is_shown_with_all_that_decides() -> None:
    route = Route("r", "shop", "desk", Scope("dm", senders=frozenset("ba")), Access("allowlist", frozenset("7")))
    assert json.loads(json.dumps(describe_route(route))) == {
        "id": "r",
        "enabled": True,
        "connectionId": "shop",
        "agentId": "desk",
        "scope": {"kind": "dm", "senders": ["a", "b"]},
        "access": "allowlist",
        "allow": ["7"],
        "mentionRequired": True,
        "stranger": "polite",
        "fallback": False,
    }
