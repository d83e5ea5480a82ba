"""Routes, and the history of how they changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from functools import lru_cache

from pydantic import TypeAdapter
from pydantic_core import from_json

from gateway.ledger.protocol import Deployment, RouteChange
from gateway.ledger.sqlite.connections import connections
from routes.connection import Connection
from routes.route import Access, Route
from routes.scope import Scope

Decide = Callable[[list[Connection], list[Route]], RouteChange]

_HISTORY = TypeAdapter(tuple[Route, ...])

_ALL = "SELECT id, connection_id, agent_id, scope, access, fallback, enabled FROM routes ORDER BY id"

_PUT = """
INSERT INTO routes (id, connection_id, agent_id, scope, access, fallback, enabled) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    connection_id = excluded.connection_id, agent_id = excluded.agent_id, scope = excluded.scope,
    access = excluded.access, fallback = excluded.fallback, enabled = excluded.enabled
"""

_REMOVE = "DELETE FROM routes WHERE id = ?"

_DEPLOYED = "INSERT INTO deployments (at, author, action, before, after) VALUES (?, ?, ?, ?, ?) RETURNING number"

_DEPLOYMENTS = "SELECT number, at, author, action, before, after FROM deployments ORDER BY number DESC LIMIT ?"

_VERSION = "SELECT version FROM config"


def routes(db: sqlite3.Connection) -> list[Route]:
    """All, by id. A hundred thousand are read in a fraction of a second."""
    return [
        Route(id_, connection_id, agent_id, _read_scope(scope), _read_access(access), fallback == 1, enabled == 1)
        for id_, connection_id, agent_id, scope, access, fallback, enabled in db.execute(_ALL)
    ]


def change_routes(db: sqlite3.Connection, decide: Decide, now: float) -> Deployment:
    """Read, decide and write with nobody in between."""
    current = routes(db)
    change = decide(connections(db), list(current))
    touched = change.remove | {route.id for route in change.put}
    before = tuple(route for route in current if route.id in touched)
    db.executemany(_REMOVE, [(route_id,) for route_id in change.remove])
    db.executemany(_PUT, [_row(route) for route in change.put])
    history = (_HISTORY.dump_json(before), _HISTORY.dump_json(change.put))
    number = db.execute(_DEPLOYED, (now, change.by, change.action, *history)).fetchone()[0]
    return Deployment(number, now, change.by, change.action, before, change.put)


def deployments(db: sqlite3.Connection, limit: int) -> list[Deployment]:
    """The history, newest first."""
    return [
        Deployment(number, at, by, action, _HISTORY.validate_json(before), _HISTORY.validate_json(after))
        for number, at, by, action, before, after in db.execute(_DEPLOYMENTS, (limit,))
    ]


def config_version(db: sqlite3.Connection) -> int:
    """What the triggers count."""
    version: int = db.execute(_VERSION).fetchone()[0]
    return version


def _row(route: Route) -> tuple[str, str, str, str, str, bool, bool]:
    scope, access = _write_scope(route.scope), _write_access(route.access)
    return (route.id, route.connection_id, route.agent_id, scope, access, route.fallback, route.enabled)


def _write_scope(scope: Scope) -> str:
    sets = (scope.chats, scope.threads, scope.senders, scope.commands)
    return _compact([scope.kind, *(None if s is None else sorted(s) for s in sets)])


@lru_cache(maxsize=256)
def _read_scope(text: str) -> Scope:
    """Most routes of a big table take everything, or share one of a few scopes: they share the value too."""
    kind, chats, threads, senders, commands = from_json(text)
    return Scope(
        kind,
        None if chats is None else frozenset(chats),
        None if threads is None else frozenset(threads),
        None if senders is None else frozenset(senders),
        None if commands is None else frozenset(commands),
    )


def _write_access(access: Access) -> str:
    return _compact([access.policy, sorted(access.allow), access.mention_required, access.stranger])


@lru_cache(maxsize=256)
def _read_access(text: str) -> Access:
    policy, allow, mention_required, stranger = from_json(text)
    return Access(policy, frozenset(allow), mention_required, stranger)


def _compact(value: list[object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
