"""An index over scopes: which routes may take a message, and which share one with a given scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from routes.route import Route
from routes.scope import Point, Scope, overlap

SPREAD = 10_000
"""Keys one route may take, or twice its own size if that is more. A wider one is filed by its smaller sets only."""

Key = tuple[str | None, ...]
Named = tuple[int, ...]


class Shelves:
    """Routes of one connection, filed by the values they name: one shelf for each choice of dimensions, 16 at most.

    Finding is by key, so its cost doesn't grow with the routes. Routes that share a key and no message differ in chat
    kind, or are among the few that are too wide to be filed by all they name.
    """

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self._shelves: dict[Named, _Shelf] = {}
        self._views: dict[tuple[Named, Named], _Shelf] = {}
        for route in routes:
            named = _filed_by(route.scope)
            shelf = self._shelves.get(named)
            if shelf is None:
                shelf = self._shelves[named] = _Shelf()
            shelf.file(route, _keys(route.scope, named))

    def at(self, point: Point) -> Iterator[Route]:
        """The routes filed where a message lies; each still has to be asked whether it takes it."""
        for named, shelf in self._shelves.items():
            yield from shelf.find(tuple([point[i] for i in named]))

    def overlapping(self, scope: Scope) -> Iterator[Route]:
        """The routes that share a message with a scope, exactly; one may come more than once."""
        filed_by = _filed_by(scope)
        for named in self._shelves:
            common = tuple([i for i in named if i in filed_by])
            view = self._view(named, common)
            for key in _keys(scope, common):
                yield from (route for route in view.find(key) if overlap(route.scope, scope))

    def _view(self, named: Named, common: Named) -> _Shelf:
        """A shelf seen by some of its dimensions only, made when first asked for."""
        if common == named:
            return self._shelves[named]
        if (named, common) not in self._views:
            view = self._views[named, common] = _Shelf()
            where = [named.index(i) for i in common]
            for key, route in self._shelves[named].items():
                view.file(route, [tuple([key[i] for i in where])])
        return self._views[named, common]


class _Shelf:
    """Routes by key. Nearly every key holds one route, so a list is made only where a second one comes."""

    __slots__ = ("_first", "_more")

    def __init__(self) -> None:
        self._first: dict[Key, Route] = {}
        self._more: dict[Key, list[Route]] = {}

    def file(self, route: Route, keys: Iterable[Key]) -> None:
        file = self._first.setdefault
        for key in keys:
            if file(key, route) is not route:
                self._more.setdefault(key, []).append(route)

    def find(self, key: Key) -> Iterable[Route]:
        first = self._first.get(key)
        return () if first is None else (first, *self._more.get(key, ()))

    def items(self) -> Iterator[tuple[Key, Route]]:
        yield from self._first.items()
        for key, routes in self._more.items():
            for route in routes:
                yield key, route


def _keys(scope: Scope, named: Named) -> Iterable[Key]:
    sets = scope.sets
    return product(*[sets[i] or () for i in named])


def _filed_by(scope: Scope) -> Named:
    """The dimensions a scope is filed by: all that it names, but the biggest while their product is too big."""
    sets = scope.sets
    named = [i for i in range(4) if sets[i] is not None]
    sizes = [len(sets[i] or ()) for i in named]
    while len(named) > 1 and prod(sizes) > max(SPREAD, 2 * sum(sizes)):
        biggest = sizes.index(max(sizes))
        del named[biggest], sizes[biggest]
    return tuple(named)
