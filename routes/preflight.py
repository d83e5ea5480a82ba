"""Preflight: what stands in the way of a route, found before it goes live. Pure: the facts come in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import JsonValue
from pydantic_core import to_json

from routes.blockers import about_agent, about_connection, about_rivals
from routes.cautions import cautions
from routes.conflicts import rivals
from routes.connection import Connection
from routes.facts import AgentFacts, ConnectionFacts, Facts, Finding, Proposal
from routes.route import Route, describe_route, route_to_json

__all__ = ["AgentFacts", "ConnectionFacts", "Facts", "Finding", "Preflight", "Proposal", "preflight"]


@dataclass(frozen=True, slots=True)
class Preflight:
    """The answer. `route` is what would be written, over `replaces` if there is one.

    `conflicts` are the live routes in its way. What is available could be named instead. `fingerprint` stands for all
    that was read, the proposal included: a deploy that brings another one is refused as stale.
    """

    route: Route
    blockers: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    conflicts: tuple[Route, ...]
    available_connections: tuple[str, ...]
    available_agents: tuple[str, ...]
    fingerprint: str
    replaces: Route | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.blockers

    def describe(self) -> dict[str, JsonValue]:
        """The answer as tools and `--json` show it."""
        return {
            "ok": self.ok,
            "route": describe_route(self.route),
            "replaces": None if self.replaces is None else describe_route(self.replaces),
            "blockers": [_describe_finding(f) for f in self.blockers],
            "warnings": [_describe_finding(f) for f in self.warnings],
            "available": {"connections": [*self.available_connections], "agents": [*self.available_agents]},
            "fingerprint": self.fingerprint,
        }


def preflight(proposal: Proposal, facts: Facts) -> Preflight:
    """Check a proposal against what is. Raises nothing: whatever is wrong is a finding."""
    connection = next((c for c in facts.connections if c.id == proposal.connection_id), None)
    ours = [r for r in facts.routes if r.connection_id == proposal.connection_id]
    replaced = _replaced(proposal, facts.routes)
    route = _route(proposal, replaced, facts.routes)
    conflicts = rivals(route, ours)
    connections = _available_connections(proposal, connection, facts.connections)
    agents = tuple(sorted(agent.id for agent in facts.agents.values() if agent.is_usable))
    others = [r for r in ours if r.enabled and r.id != route.id]
    more = facts.more.get(proposal.connection_id, ConnectionFacts())
    return Preflight(
        route=route,
        blockers=(
            *about_connection(proposal, connection, connections),
            *about_agent(proposal.agent_id, facts.agents.get(proposal.agent_id), agents, proposal.access),
            *about_rivals(route, conflicts),
        ),
        warnings=tuple(cautions(route, others, connection, more)),
        conflicts=tuple(conflicts),
        available_connections=connections,
        available_agents=agents,
        fingerprint=_fingerprint(proposal, route, replaced, connection, ours, facts),
        replaces=replaced,
    )


def _replaced(proposal: Proposal, routes: Sequence[Route]) -> Route | None:
    if proposal.route_id:
        return next((r for r in routes if r.id == proposal.route_id), None)
    place = (proposal.connection_id, proposal.agent_id, proposal.scope)
    same = [r for r in routes if (r.connection_id, r.agent_id, r.scope) == place]
    return min(same, key=lambda r: (not r.enabled, r.id), default=None)


def _route(proposal: Proposal, replaced: Route | None, routes: Sequence[Route]) -> Route:
    return Route(
        id=replaced.id if replaced else proposal.route_id or _fresh_id(proposal, routes),
        connection_id=proposal.connection_id,
        agent_id=proposal.agent_id,
        scope=proposal.scope,
        access=proposal.access,
        fallback=proposal.fallback,
    )


def _fresh_id(proposal: Proposal, routes: Sequence[Route]) -> str:
    """`shop-front-desk`, or with the first number that is free. Disabled routes keep their ids."""
    base = f"{proposal.connection_id}-{proposal.agent_id}"
    taken = {r.id for r in routes}
    return next(name for n in range(len(taken) + 1) if (name := f"{base}-{n + 1}" if n else base) not in taken)


def _available_connections(
    proposal: Proposal, connection: Connection | None, connections: Sequence[Connection]
) -> tuple[str, ...]:
    channel = proposal.channel or ("" if connection is None else connection.channel)
    usable = (c for c in connections if c.enabled and c.status != "needs_attention")
    return tuple(sorted(c.id for c in usable if channel in ("", c.channel)))


def _fingerprint(
    proposal: Proposal,
    route: Route,
    replaced: Route | None,
    connection: Connection | None,
    ours: Sequence[Route],
    facts: Facts,
) -> str:
    """A digest of what the answer depends on, the same in every process."""
    agent = facts.agents.get(proposal.agent_id)
    more = facts.more.get(proposal.connection_id)
    read = [
        [proposal.channel, proposal.route_id, route_to_json(route)],
        None if replaced is None else route_to_json(replaced),
        connection and [connection.channel, connection.enabled, connection.status, sorted(connection.owners)],
        more and asdict(more),
        agent and asdict(agent),
        [route_to_json(r) for r in sorted(ours, key=lambda r: r.id)],
    ]
    return hashlib.sha256(to_json(read)).hexdigest()[:32]


def _describe_finding(finding: Finding) -> dict[str, JsonValue]:
    return {
        "code": finding.code,
        "message": finding.message,
        "fix": finding.fix,
        "routes": [*finding.routes],
        "details": finding.details,
    }
