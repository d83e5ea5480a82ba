"""Finding the one route that owns a message, by index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from typing import Literal

from channels.message import InboundMessage
from routes.route import Route
from routes.scope import coordinates
from routes.shelves import Shelves

LISTED = 20
"""Routes an explanation shows."""

Verdict = Literal["takes", "disabled", "scope_differs", "fallback_not_needed"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """Whose a message is. Without a route, `reason` is the stable code of why nobody's.

    `connection_has_no_routes` (none that is enabled), `no_route` (none takes it), `route_conflict` (several do).
    """

    route: Route | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Considered:
    """One route against a message: whether it takes it, and which dimensions of its scope keep it out."""

    route: Route
    verdict: Verdict
    misses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """A resolution, and the routes that came nearest to the message, nearest first; `omitted` counts the others."""

    resolution: Resolution
    considered: tuple[Considered, ...]
    omitted: int


class RouteTable:
    """An immutable index over routes. A lookup's cost doesn't grow with their number."""

    def __init__(self, routes: Iterable[Route]) -> None:
        by_connection: dict[str, list[Route]] = {}
        for route in routes:
            by_connection.setdefault(route.connection_id, []).append(route)
        self._books = {connection_id: _Book(ours) for connection_id, ours in by_connection.items()}

    def resolve(self, message: InboundMessage) -> Resolution:
        """The route that owns a message: a scoped one, else the fallback, else nobody for a named reason."""
        book = self._books.get(message.connection_id)
        if book is None or not book.is_open:
            return Resolution(None, "connection_has_no_routes")
        owners = book.owners(message)
        if len(owners) == 1:
            return Resolution(owners[0])
        return Resolution(None, "route_conflict" if owners else "no_route")

    def explain(self, message: InboundMessage) -> Explanation:
        """The resolution with its reasons. It asks every route of the connection: for people, not for each message."""
        resolution = self.resolve(message)
        book = self._books.get(message.connection_id)
        if book is None:
            return Explanation(resolution, (), 0)
        owners = {route.id for route in book.owners(message)}
        considered = (_consider(route, message, owners) for route in book.routes)
        nearest = nsmallest(LISTED, considered, key=lambda c: (len(c.misses), c.verdict != "takes", c.route.id))
        return Explanation(resolution, tuple(nearest), len(book.routes) - len(nearest))


class _Book:
    """One connection's routes."""

    __slots__ = ("_fallbacks", "_scoped", "is_open", "routes")

    def __init__(self, routes: list[Route]) -> None:
        self.routes = routes
        self.is_open = any(route.enabled for route in routes)
        self._scoped = Shelves(route for route in routes if route.enabled and not route.fallback)
        self._fallbacks = [route for route in routes if route.enabled and route.fallback]

    def owners(self, message: InboundMessage) -> list[Route]:
        """The routes that claim a message: exactly one, or none, unless something went around preflight."""
        scoped = [route for route in self._scoped.at(coordinates(message)) if route.scope.takes(message)]
        return scoped or [route for route in self._fallbacks if route.scope.takes(message)]


def _consider(route: Route, message: InboundMessage, owners: set[str]) -> Considered:
    misses = route.scope.misses(message)
    if not route.enabled:
        return Considered(route, "disabled", misses)
    if misses:
        return Considered(route, "scope_differs", misses)
    return Considered(route, "takes" if route.id in owners else "fallback_not_needed")
