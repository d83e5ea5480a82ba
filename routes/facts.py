"""What preflight is asked, what it is told, and one line of what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from routes.connection import Connection
from routes.route import Access, Route
from routes.scope import Scope

AgentStatus = Literal["draft", "production", "disabled"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A route that somebody wants live. `channel` is what they believe the connection is on, or empty.

    It replaces the route it names by `route_id`, or else the one with the same connection, agent and scope.
    """

    connection_id: str
    agent_id: str
    scope: Scope = Scope()
    access: Access = Access()
    fallback: bool = False
    channel: str = ""
    route_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What preflight needs to know of an agent. `problem` says why it can't be loaded; `missing_tools` hold it back.

    `owner_only` agents may do what only the owner may.
    """

    id: str
    status: AgentStatus = "production"
    revision: str = ""
    problem: str = ""
    missing_tools: tuple[str, ...] = ()
    owner_only: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether a route to this agent could go live."""
        return self.status == "production" and not self.problem and not self.missing_tools


@dataclass(frozen=True, slots=True)
class ConnectionFacts:
    """What is known of a connection beyond its row. Webhooks need a public URL; `privacy_mode` is Telegram's."""

    public_url: bool = False
    needs_public_url: bool = False
    privacy_mode: bool | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything preflight reads. `more` is by connection id; what is missing there raises no warning."""

    connections: Sequence[Connection]
    routes: Sequence[Route]
    agents: Mapping[str, AgentFacts]
    more: Mapping[str, ConnectionFacts] = field(default_factory=dict[str, ConnectionFacts])


@dataclass(frozen=True, slots=True)
class Finding:
    """One blocker or warning: a stable code, what is so, what to do, and the routes it is about (the first few ids).

    `details` holds the same for a program: `count` of the routes, a `sample` message, the missing `tools`.
    """

    code: str
    message: str
    fix: str = ""
    routes: tuple[str, ...] = ()
    details: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
