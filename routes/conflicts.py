"""Who would share a message with whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from routes.route import Route
from routes.scope import Scope, overlap
from routes.shelves import SPREAD, Shelves


def rivals(route: Route, routes: Iterable[Route]) -> list[Route]:
    """The live routes that can't stand beside this one: they share a message with it, or both are fallbacks."""
    return [
        other
        for other in routes
        if other.enabled
        and other.connection_id == route.connection_id
        and other.fallback == route.fallback
        and other.id != route.id
        and (other.fallback or overlap(other.scope, route.scope))
    ]


def first_clash(changed: Sequence[Route], routes: Sequence[Route]) -> tuple[Route, Route] | None:
    """Two live routes that can't stand beside each other, one of them changed; `routes` are all after the change.

    Finds them by index, for changes of many routes at once.
    """
    scoped: dict[str, list[Route]] = {}
    fallbacks: dict[str, list[Route]] = {}
    for route in routes:
        if route.enabled:
            (fallbacks if route.fallback else scoped).setdefault(route.connection_id, []).append(route)
    shelves = {
        connection_id: Shelves(scoped.get(connection_id, ())) for connection_id in {r.connection_id for r in changed}
    }
    for route in changed:
        if route.enabled:
            ours = route.connection_id
            beside = iter(fallbacks[ours]) if route.fallback else shelves[ours].overlapping(route.scope)
            other = next((r for r in beside if r.id != route.id), None)
            if other is not None:
                return route, other
    return None


def is_covered(scope: Scope, routes: Iterable[Route]) -> bool:
    """Whether scoped routes take every message of a scope, so that nothing is left of it.

    Where the scope takes all values, only a route that takes all of them covers those that nobody names. A scope too
    wide to go through (SPREAD points) counts as not covered.
    """
    scoped = [r for r in routes if all(b is None for a, b in zip(scope.sets, r.scope.sets, strict=True) if a is None)]
    chats, threads, senders, commands = ((None,) if values is None else tuple(values) for values in scope.sets)
    if not scoped or prod(len(values or (None,)) for values in scope.sets) > SPREAD:
        return False
    index = Shelves(scoped)
    kinds = ("dm", "group", "channel") if scope.kind == "any" else (scope.kind,)
    return all(
        any(r.scope.kind in ("any", kind) and r.scope.holds(point) for r in index.at(point))
        for kind in kinds
        for point in product(chats, threads, senders, commands)
    )
