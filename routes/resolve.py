"""Finding the one route that owns a message, by index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product

from channels.message import InboundMessage
from routes.route import Route
from routes.scope import ScopeSet, coordinates

Coordinate = str | None

SPREAD = 10_000
"""Entries one route may take in the index; a scope whose sets multiply to more is filed by its smaller sets only."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Whose a message is. Without a route, `reason` is the stable code of why nobody's."""

    route: Route | None
    reason: str = ""


@dataclass(slots=True)
class _Shelf:
    """The scoped routes of one connection that name values in the same dimensions, by those values."""

    named: tuple[int, ...]
    routes: dict[tuple[Coordinate, ...], list[Route]] = field(default_factory=dict)

    def find(self, at: tuple[Coordinate, ...]) -> list[Route]:
        return self.routes.get(tuple(at[i] for i in self.named), [])


@dataclass(slots=True)
class _Book:
    """One connection's enabled routes: shelves by what they name (sixteen at most), and its fallback."""

    shelves: dict[tuple[int, ...], _Shelf] = field(default_factory=dict)
    fallbacks: list[Route] = field(default_factory=list)


class RouteTable:
    """An immutable index over enabled routes. A lookup visits at most sixteen shelves, however many there are."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._books: dict[str, _Book] = {}
        for route in routes:
            if route.enabled:
                self._add(route)

    def resolve(self, message: InboundMessage) -> Resolution:
        """The route that owns a message: a scoped one, else the fallback, else nobody for a named reason."""
        book = self._books.get(message.connection_id)
        if book is None:
            return Resolution(None, "connection_has_no_routes")
        owners = [route for route in self.candidates(message) if route.scope.takes(message)]
        owners = owners or [route for route in book.fallbacks if route.scope.takes(message)]
        if len(owners) == 1:
            return Resolution(owners[0])
        return Resolution(None, "route_conflict" if owners else "no_route")

    def candidates(self, message: InboundMessage) -> Iterator[Route]:
        """The scoped routes that the index finds for a message; each still has to be asked."""
        book = self._books.get(message.connection_id)
        if book is not None:
            at = coordinates(message)
            for shelf in book.shelves.values():
                yield from shelf.find(at)

    def fallback(self, connection_id: str) -> Route | None:
        """The connection's fallback route."""
        book = self._books.get(connection_id)
        return book.fallbacks[0] if book is not None and book.fallbacks else None

    def _add(self, route: Route) -> None:
        book = self._books.setdefault(route.connection_id, _Book())
        if route.fallback:
            book.fallbacks.append(route)
            return
        named = _filed_by(route.scope.sets)
        shelf = book.shelves.setdefault(named, _Shelf(named))
        for values in product(*(route.scope.sets[i] or () for i in named)):
            shelf.routes.setdefault(values, []).append(route)


def _filed_by(sets: tuple[ScopeSet, ...]) -> tuple[int, ...]:
    """The dimensions a route is filed by: all that it names, the smallest first, while their product stays small."""
    entries = 1
    named: list[int] = []
    for size, i in sorted((len(values), i) for i, values in enumerate(sets) if values is not None):
        if named and entries * size > SPREAD:
            break
        entries *= size
        named.append(i)
    return tuple(sorted(named))
