"""The findings that keep a route from going live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from routes.connection import Connection
from routes.facts import AgentFacts, Finding, Proposal
from routes.route import Access, Route
from routes.scope import sample

NAMED = 5
"""Names a sentence lists."""

LISTED = 20
"""Route ids a finding lists; a whole-connection route can stand in the way of very many."""


def about_connection(proposal: Proposal, connection: Connection | None, available: Sequence[str]) -> list[Finding]:
    """connection_missing, connection_disabled, channel_mismatch; connection_unverified for one known not to work."""
    others = [name for name in available if name != proposal.connection_id]
    use = f"Connections you can use: {names(others)}." if others else ""
    if connection is None:
        add = f"Add one: postroom connection add {proposal.channel or 'CHANNEL'} --id {proposal.connection_id}"
        return [
            Finding("connection_missing", f"There is no connection '{proposal.connection_id}'.", f"{use} {add}".strip())
        ]
    found: list[Finding] = []
    if not connection.enabled:
        message = f"Connection '{connection.id}' is disabled."
        found.append(Finding("connection_disabled", message, f"Enable it, or use another. {use}".strip()))
    if proposal.channel and proposal.channel != connection.channel:
        message = f"Connection '{connection.id}' is on {connection.channel}, not on {proposal.channel}."
        found.append(
            Finding("channel_mismatch", message, use or f"Add one: postroom connection add {proposal.channel} --id ID")
        )
    if connection.status == "needs_attention":
        message = f"Connection '{connection.id}' does not work: {connection.status_detail or 'its last check failed'}"
        fix = f"Put that right, then check it: postroom connection check {connection.id}"
        found.append(Finding("connection_unverified", message, fix))
    return found


def about_agent(
    agent_id: str, agent: AgentFacts | None, available: Sequence[str], access: Access | None = None
) -> list[Finding]:
    """agent_missing, agent_invalid, agent_not_production, tool_unavailable, agent_owner_only."""
    if agent is None:
        fix = f"Agents you can use: {names(available)}." if available else "Create one, and set it to production."
        return [Finding("agent_missing", f"There is no agent '{agent_id}'.", fix)]
    if agent.problem:
        message = f"Agent '{agent.id}' can't be loaded: {agent.problem}"
        return [
            Finding("agent_invalid", message, f"Correct its files, then look again: postroom agent show {agent.id}")
        ]
    found: list[Finding] = []
    if agent.owner_only and (access is None or access.policy != "owner"):
        message = f"Agent '{agent.id}' can change agents and routes, so only the owner may talk to it."
        found.append(Finding("agent_owner_only", message, "Deploy it with access owner."))
    if agent.status != "production":
        message = f"Agent '{agent.id}' has status {agent.status}."
        found.append(Finding("agent_not_production", message, 'Set "status": "production" in its agent.json.'))
    if agent.missing_tools:
        message = f"Agent '{agent.id}' needs tools that nobody provides: {names(agent.missing_tools)}."
        fix = "Take them out of allowedTools, or end them with ? to run without them."
        found.append(Finding("tool_unavailable", message, fix, details={"tools": [*agent.missing_tools]}))
    return found


def about_rivals(route: Route, conflicts: Sequence[Route]) -> list[Finding]:
    """route_conflict, or second_fallback for a fallback."""
    if not conflicts:
        return []
    ids = tuple(r.id for r in conflicts[:LISTED])
    named = names([f"{r.id} (agent {r.agent_id})" for r in conflicts])
    if route.fallback:
        fix = f"Disable it first: postroom route disable {ids[0]}, or deploy with --disable-conflicting."
        message = f"The connection already has a fallback: {named}."
        return [Finding("second_fallback", message, fix, ids, {"count": len(conflicts)})]
    shared = sample(route.scope, conflicts[0].scope)
    assert shared is not None  # noqa: S101 - a rival shares a message
    fix = (
        "Narrow the scope so that nobody's messages have two owners, disable the other first "
        f"(postroom route disable {ids[0]}), or deploy with --disable-conflicting."
    )
    message = f"Live already: {named}. With '{conflicts[0].id}' it would share {shared}."
    return [Finding("route_conflict", message, fix, ids, {"count": len(conflicts), "sample": asdict(shared)})]


def names(all_: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(all_) - NAMED} more" if len(all_) > NAMED else ""
    return ", ".join(all_[:NAMED]) + more
