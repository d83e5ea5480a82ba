"""A route: connection + scope → agent, with an access policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from routes.scope import Scope, describe, scope_from_json, scope_to_json

AccessPolicy = Literal["open", "allowlist", "pairing", "owner"]
StrangerAnswer = Literal["polite", "silent"]


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use a route. `allow` are sender ids for `allowlist` and those that `pairing` let in.

    `mention_required` holds in groups and channels only; there the bot answers when mentioned, replied to or commanded.
    """

    policy: AccessPolicy = "open"
    allow: frozenset[str] = frozenset()
    mention_required: bool = True
    stranger: StrangerAnswer = "polite"


@dataclass(frozen=True, slots=True)
class Route:
    """One rule of who answers. A `fallback` route takes what no scoped route of its connection takes."""

    id: str
    connection_id: str
    agent_id: str
    scope: Scope = Scope()
    access: Access = Access()
    fallback: bool = False
    enabled: bool = True


def describe_route(route: Route) -> dict[str, JsonValue]:
    """A route as listings and tools show it."""
    scope: dict[str, JsonValue] = {k: v if isinstance(v, str) else [*v] for k, v in describe(route.scope).items()}
    return {
        "id": route.id,
        "enabled": route.enabled,
        "connectionId": route.connection_id,
        "agentId": route.agent_id,
        "scope": scope,
        "access": route.access.policy,
        "allow": [*sorted(route.access.allow)],
        "mentionRequired": route.access.mention_required,
        "stranger": route.access.stranger,
        "fallback": route.fallback,
    }


def access_to_json(access: Access) -> str:
    """Access as a ledger keeps it: `["allowlist",["7"],true,"polite"]`, the same text for the same access."""
    return to_json([access.policy, sorted(access.allow), access.mention_required, access.stranger]).decode()


@lru_cache(maxsize=256)
def access_from_json(text: str) -> Access:
    """Read what `access_to_json` wrote. Most routes of a big table share one of a few: they share the value too."""
    policy, allow, mention_required, stranger = from_json(text)
    return Access(policy, frozenset(allow), mention_required, stranger)


def route_to_json(route: Route) -> str:
    """A whole route, its scope and access in their own compact forms; the same text for the same route."""
    scope, access = scope_to_json(route.scope), access_to_json(route.access)
    return to_json(
        [route.id, route.connection_id, route.agent_id, scope, access, route.fallback, route.enabled]
    ).decode()


def route_from_json(text: str) -> Route:
    """Read what `route_to_json` wrote."""
    id_, connection_id, agent_id, scope, access, fallback, enabled = from_json(text)
    return Route(id_, connection_id, agent_id, scope_from_json(scope), access_from_json(access), fallback, enabled)
