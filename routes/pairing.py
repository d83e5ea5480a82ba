"""Letting a stranger in, or out again: an id on a route's list, written as a change of routes like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from routes.change import Decide, RouteChange
from routes.connection import Connection
from routes.deploy import find_route
from routes.route import Route


def decide_admit(route_id: str, sender_id: str, by: str = "owner") -> Decide:
    """Put a sender on a route's list. The decision raises RouteUnknown."""
    return _decide(route_id, lambda allow: allow | {sender_id}, f"pair {sender_id} with {route_id}", by)


def decide_dismiss(route_id: str, sender_id: str, by: str = "owner") -> Decide:
    """Take a sender off a route's list. The decision raises RouteUnknown."""
    return _decide(route_id, lambda allow: allow - {sender_id}, f"unpair {sender_id} from {route_id}", by)


def _decide(route_id: str, change: Callable[[frozenset[str]], frozenset[str]], action: str, by: str) -> Decide:
    def decide(_connections: list[Connection], routes: list[Route]) -> RouteChange:
        route = find_route(route_id, routes)
        access = replace(route.access, allow=change(route.access.allow))
        return RouteChange(put=(replace(route, access=access),), action=action, by=by)

    return decide
