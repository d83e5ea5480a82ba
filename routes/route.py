"""A route: connection + scope → agent, with an access policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routes.scope import Scope

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
