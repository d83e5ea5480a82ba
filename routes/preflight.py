"""Preflight: what stands in the way of a route, found before it goes live. Pure: the facts come in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from routes.connection import Connection
from routes.route import Access, Route
from routes.scope import Scope, describe, overlap, sample

AgentStatus = Literal["draft", "production", "disabled"]


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What preflight needs to know of an agent. `problem` says why it can't be loaded; `missing_tools` hold it back."""

    id: str
    status: AgentStatus = "production"
    revision: str = ""
    problem: str = ""
    missing_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConnectionFacts:
    """What is known of a connection beyond its row. `needs_public_url` holds for webhooks."""

    public_url: bool = False
    needs_public_url: bool = False
    privacy_mode: bool | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A route that somebody wants live. `channel` is what they believe the connection is on, or empty."""

    connection_id: str
    agent_id: str
    scope: Scope = Scope()
    access: Access = Access()
    fallback: bool = False
    channel: str = ""
    route_id: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One blocker or warning: a stable code, what is so, what to do, and the routes it is about."""

    code: str
    message: str
    fix: str = ""
    routes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything preflight reads."""

    connections: Sequence[Connection]
    routes: Sequence[Route]
    agents: Mapping[str, AgentFacts]
    more: Mapping[str, ConnectionFacts] = field(default_factory=dict[str, ConnectionFacts])


@dataclass(frozen=True, slots=True)
class Preflight:
    """The answer. `route` is what would be written; `replaces` are own routes it takes the place of.

    `fingerprint` stands for all that was read: a deploy that brings another one is refused as stale.
    """

    route: Route
    blockers: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    conflicts: tuple[Route, ...]
    available_connections: tuple[str, ...]
    available_agents: tuple[str, ...]
    fingerprint: str

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.blockers


def preflight(proposal: Proposal, facts: Facts) -> Preflight:
    """Check a proposal against what is. Raises nothing: whatever is wrong is a finding."""
    connection = next((c for c in facts.connections if c.id == proposal.connection_id), None)
    ours = [r for r in facts.routes if r.connection_id == proposal.connection_id]
    route = _route(proposal, facts.routes, ours)
    others = [r for r in ours if r.enabled and r.id != route.id]
    conflicts = _conflicts(route, others)
    blockers = [
        *_about_connection(proposal, connection, facts),
        *_about_agent(proposal, facts.agents),
        *_about_conflicts(route, conflicts),
    ]
    return Preflight(
        route=route,
        blockers=tuple(blockers),
        warnings=tuple(_warnings(route, others, connection, facts)),
        conflicts=tuple(conflicts),
        available_connections=tuple(
            c.id for c in facts.connections if c.enabled and proposal.channel in ("", c.channel)
        ),
        available_agents=tuple(
            sorted(a.id for a in facts.agents.values() if a.status == "production" and not a.problem)
        ),
        fingerprint=_fingerprint(proposal, connection, ours, facts),
    )


def _route(proposal: Proposal, everywhere: Sequence[Route], ours: Sequence[Route]) -> Route:
    """The route to write: the named one, the same one deployed before, or a new one with a readable id."""
    same = next(
        (
            r
            for r in ours
            if r.id == proposal.route_id
            or (not proposal.route_id and r.agent_id == proposal.agent_id and _place(r) == _place(proposal))
        ),
        None,
    )
    taken = {r.id for r in everywhere}
    base = proposal.route_id or f"{proposal.connection_id}-{proposal.agent_id}"
    fresh = next(name for n in range(len(taken) + 1) if (name := base if n == 0 else f"{base}-{n + 1}") not in taken)
    return Route(
        id=same.id if same else fresh,
        connection_id=proposal.connection_id,
        agent_id=proposal.agent_id,
        scope=proposal.scope,
        access=proposal.access,
        fallback=proposal.fallback,
    )


def _place(of: Route | Proposal) -> tuple[Scope, bool]:
    return (of.scope, of.fallback)


def _conflicts(route: Route, others: Sequence[Route]) -> list[Route]:
    """Enabled routes that would take a message this one takes: scoped against scoped, fallback against fallback."""
    return [r for r in others if r.fallback == route.fallback and (r.fallback or overlap(r.scope, route.scope))]


def _about_connection(proposal: Proposal, connection: Connection | None, facts: Facts) -> list[Finding]:
    if connection is None:
        known = ", ".join(c.id for c in facts.connections) or "none yet"
        return [
            Finding(
                "connection_missing",
                f"There is no connection '{proposal.connection_id}'.",
                f"Known connections: {known}. Add one with `postroom connection add`.",
            )
        ]
    found: list[Finding] = []
    if not connection.enabled:
        found.append(
            Finding("connection_disabled", f"Connection '{connection.id}' is disabled.", "Enable it, or use another.")
        )
    if proposal.channel and proposal.channel != connection.channel:
        found.append(
            Finding(
                "channel_mismatch",
                f"Connection '{connection.id}' is on {connection.channel}, not {proposal.channel}.",
                f"Name a {proposal.channel} connection.",
            )
        )
    if connection.status == "needs_attention":
        found.append(
            Finding(
                "connection_unverified",
                f"Connection '{connection.id}' does not work: {connection.status_detail}",
                f"postroom connection check {connection.id}",
            )
        )
    return found


def _about_agent(proposal: Proposal, agents: Mapping[str, AgentFacts]) -> list[Finding]:
    agent = agents.get(proposal.agent_id)
    if agent is None:
        known = ", ".join(sorted(agents)) or "none"
        return [Finding("agent_missing", f"There is no agent '{proposal.agent_id}'.", f"Known agents: {known}.")]
    found: list[Finding] = []
    if agent.problem:
        found.append(
            Finding("agent_invalid", f"Agent '{agent.id}' can't be loaded: {agent.problem}", "Put its files right.")
        )
    elif agent.status != "production":
        found.append(
            Finding(
                "agent_not_production",
                f"Agent '{agent.id}' has status {agent.status}.",
                'Set "status": "production" in its agent.json.',
            )
        )
    if agent.missing_tools:
        found.append(
            Finding(
                "tool_unavailable",
                f"Nobody provides {', '.join(agent.missing_tools)}.",
                "Take it out of allowedTools, or end it with ? to run without it.",
            )
        )
    return found


def _about_conflicts(route: Route, conflicts: Sequence[Route]) -> list[Finding]:
    if not conflicts:
        return []
    ids = tuple(r.id for r in conflicts)
    named = ", ".join(f"'{r.id}' ({r.agent_id})" for r in conflicts[:5])
    more = f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
    fix = "Narrow the scope, or disable the other route yourself: --disable-conflicting."
    if route.fallback:
        return [Finding("second_fallback", f"The connection has a fallback already: {named}.", fix, ids)]
    both = sample(route.scope, conflicts[0].scope)
    return [Finding("route_conflict", f"Route {named}{more} is live, and both would take {both}.", fix, ids)]


def _warnings(route: Route, others: Sequence[Route], connection: Connection | None, facts: Facts) -> list[Finding]:
    found: list[Finding] = []
    if route.scope.is_everything and not route.fallback:
        found.append(
            Finding(
                "broad_scope", "This route owns the whole connection.", "Give it a --scope to leave room for others."
            )
        )
    if route.access.policy == "open" and route.scope.kind in ("any", "group", "channel"):
        found.append(
            Finding("open_access", "Anyone in any group may use it.", "Use --scope dm, or --access allowlist.")
        )
    if route.fallback and any(r.scope.is_everything for r in others if not r.fallback):
        found.append(
            Finding("unreachable_route", "A scoped route takes everything: this fallback is never reached.", "")
        )
    more = facts.more.get(route.connection_id, ConnectionFacts())
    if connection is not None and more.needs_public_url and not more.public_url:
        found.append(Finding("no_public_url", "The provider can't reach this gateway.", "Set POSTROOM_PUBLIC_URL."))
    if more.privacy_mode and route.scope.kind in ("any", "group"):
        found.append(
            Finding(
                "privacy_mode",
                "With privacy mode on, the bot sees commands and replies in groups, and little else.",
                "Turn it off at @BotFather and add the bot to the group again.",
            )
        )
    if connection is not None and connection.status == "unverified":
        found.append(
            Finding(
                "connection_unverified",
                f"Connection '{connection.id}' was never checked.",
                f"postroom connection check {connection.id}",
            )
        )
    return found


def _fingerprint(proposal: Proposal, connection: Connection | None, ours: Sequence[Route], facts: Facts) -> str:
    """A digest of what the answer depends on: the proposal, its connection, that connection's routes, its agent."""
    digest = hashlib.sha256(repr((proposal.agent_id, describe(proposal.scope), _told(proposal.access))).encode())
    digest.update(repr((proposal.connection_id, proposal.fallback, proposal.channel, proposal.route_id)).encode())
    if connection is not None:
        digest.update(repr((connection.channel, connection.enabled, connection.status)).encode())
    for route in sorted(ours, key=lambda r: r.id):
        told = (route.id, route.agent_id, describe(route.scope), _told(route.access), route.fallback, route.enabled)
        digest.update(repr(told).encode())
    digest.update(repr(facts.agents.get(proposal.agent_id)).encode())
    return digest.hexdigest()[:32]


def _told(access: Access) -> tuple[object, ...]:
    """An access policy in an order that does not change from process to process."""
    return (access.policy, sorted(access.allow), access.mention_required, access.stranger)
