"""A change of routes, as a deploy decides it and the ledger writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from routes.connection import Connection
from routes.route import Route


@dataclass(frozen=True, slots=True)
class RouteChange:
    """What a deploy wants written: routes to insert or replace by id, and route ids to remove.

    `connections` are written first; `secrets` are theirs by connection id and name, sealed, beside those they have.
    """

    put: tuple[Route, ...]
    action: str
    by: str = "owner"
    remove: frozenset[str] = frozenset()
    connections: tuple[Connection, ...] = ()
    secrets: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])


Decide = Callable[[list[Connection], list[Route]], RouteChange]
"""Decides a change on all connections and routes as they are; whatever it raises keeps the change from being made."""
