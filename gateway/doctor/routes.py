"""The live routes: whether each leads somewhere, and no two take the same message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents_runtime.registry import Registry
from channels.adapter import Finding
from channels.errors import PostroomError
from routes.conflicts import first_clash
from routes.connection import Connection
from routes.route import Route


def about_routes(registry: Registry, connections: Sequence[Connection], routes: Sequence[Route]) -> list[Finding]:
    """Every check of what is live."""
    live = [route for route in routes if route.enabled]
    if not live:
        return [Finding("routes", False, "No route is live: nobody is answered.", "postroom route deploy --help")]
    return [
        Finding("routes", True, f"{len(live)} live route(s)."),
        *_agents(registry, live),
        *_connections(connections, live),
        *_clashes(live),
    ]


def _agents(registry: Registry, live: Sequence[Route]) -> Iterator[Finding]:
    for agent_id in sorted({r.agent_id for r in live}):
        problem = _why_not(registry, agent_id)
        if problem:
            users = [r.id for r in live if r.agent_id == agent_id]
            text = f"Route {', '.join(users[:3])} leads to '{agent_id}', which can't answer: {problem}"
            yield Finding("route", False, text, f"postroom agent show {agent_id}")


def _connections(connections: Sequence[Connection], live: Sequence[Route]) -> Iterator[Finding]:
    known = {connection.id: connection for connection in connections}
    for connection_id in sorted({r.connection_id for r in live}):
        connection = known.get(connection_id)
        if connection is None or not connection.enabled:
            (first, *_) = (r.id for r in live if r.connection_id == connection_id)
            state = "is gone" if connection is None else "is disabled"
            text = f"Route '{first}' leads from '{connection_id}', which {state}."
            yield Finding("route_connection", connection is not None, text, f"postroom route disable {first}")


def _clashes(live: Sequence[Route]) -> Iterator[Finding]:
    clash = first_clash(live, live)
    if clash is not None:
        text = f"Routes '{clash[0].id}' and '{clash[1].id}' take the same message."
        yield Finding("route_conflict", False, text, f"postroom route disable {clash[1].id}")


def _why_not(registry: Registry, agent_id: str) -> str:
    try:
        status = registry.get(agent_id).manifest.status
    except PostroomError as error:
        return error.message
    return "" if status == "production" else f"its status is {status}."
