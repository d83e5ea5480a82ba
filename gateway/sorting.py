"""Which messages of a turn belong together: the pure step between the ledger and an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from channels.message import InboundMessage, gather
from routes.access import admit
from routes.connection import Connection
from routes.resolve import RouteTable
from routes.route import Route


@dataclass(frozen=True, slots=True)
class Owned:
    """Messages that one route answers at once. `ids` are all stored ids behind them (an album is one message)."""

    route: Route
    messages: tuple[InboundMessage, ...]
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Stranger:
    """A sender whom the route does not admit, and the one sentence to tell them."""

    route: Route
    message: InboundMessage
    reason: str
    answer: str


@dataclass(frozen=True, slots=True)
class Sorted:
    """A turn sorted: what is answered now, what is ignored and why, and what is left for the next turn."""

    owned: Owned | None
    ignored: dict[str, str]
    left: frozenset[str]
    stranger: Stranger | None = None


def sort_turn(messages: Sequence[InboundMessage], table: RouteTable, connection: Connection) -> Sorted:
    """Take the messages in order: the first that a route admits decides whose turn this is.

    Later ones of the same route join it. The first message of another route, and everything after it, is left, so that
    the order holds. A stranger who is due an answer ends the turn in the same way.
    """
    ignored: dict[str, str] = {}
    taken: list[InboundMessage] = []
    ids: set[str] = set()
    route: Route | None = None
    items = [tuple(g) for _, g in groupby(messages, key=lambda m: m.group_id or m.id)]
    for position, item in enumerate(items):
        message = gather(item)
        found = table.resolve(message)
        if found.route is None:
            ignored |= {m.id: found.reason for m in item}
            continue
        admission = admit(found.route, connection, message)
        if not admission.allowed:
            if admission.answer and route is not None:
                return Sorted(Owned(route, tuple(taken), frozenset(ids)), ignored, _ids(items[position:]))
            ignored |= {m.id: admission.reason for m in item}
            if admission.answer:
                stranger = Stranger(found.route, message, admission.reason, admission.answer)
                return Sorted(None, ignored, _ids(items[position + 1 :]), stranger)
            continue
        if route is not None and found.route.id != route.id:
            return Sorted(Owned(route, tuple(taken), frozenset(ids)), ignored, _ids(items[position:]))
        route = found.route
        taken.append(message)
        ids |= {m.id for m in item}
    owned = Owned(route, tuple(taken), frozenset(ids)) if route is not None else None
    return Sorted(owned, ignored, frozenset())


def _ids(items: Sequence[tuple[InboundMessage, ...]]) -> frozenset[str]:
    return frozenset(m.id for item in items for m in item)
