"""Routes, and the history of how they changed."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import TypeAdapter

from gateway.ledger.records import Deployment
from gateway.ledger.sql.connections import connections, in_series, put_connection
from gateway.ledger.sql.database import Database
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Route, access_from_json, access_to_json
from routes.scope import scope_from_json, scope_to_json

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


def routes(db: Database) -> list[Route]:
    """All, by id. A hundred thousand are read in a fraction of a second."""
    return [
        Route(
            id_, connection_id, agent_id, scope_from_json(scope), access_from_json(access), fallback == 1, enabled == 1
        )
        for id_, connection_id, agent_id, scope, access, fallback, enabled in db.execute(_ALL)
    ]


def change_routes(db: Database, decide: Decide, now: float) -> Deployment:
    """Read, decide and write with nobody in between."""
    in_series(db)
    current = routes(db)
    change = decide(connections(db), list(current))
    touched = change.remove | {route.id for route in change.put}
    before = tuple(route for route in current if route.id in touched)
    for connection in change.connections:
        put_connection(db, connection, change.secrets.get(connection.id, {}))
    db.executemany(_REMOVE, [(route_id,) for route_id in change.remove])
    db.executemany(_PUT, [_row(route) for route in change.put])
    history = (_HISTORY.dump_json(before), _HISTORY.dump_json(change.put))
    number = db.execute(_DEPLOYED, (now, change.by, change.action, *history)).fetchone()[0]
    return Deployment(number, now, change.by, change.action, before, change.put)


def deployments(db: Database, limit: int) -> list[Deployment]:
    """The history, newest first."""
    return [
        Deployment(number, at, by, action, _HISTORY.validate_json(before), _HISTORY.validate_json(after))
        for number, at, by, action, before, after in db.execute(_DEPLOYMENTS, (limit,))
    ]


def config_version(db: Database) -> int:
    """What the triggers count."""
    version: int = db.execute(_VERSION).fetchone()[0]
    return version


def _row(route: Route) -> tuple[str, str, str, str, str, bool, bool]:
    scope, access = scope_to_json(route.scope), access_to_json(route.access)
    return (route.id, route.connection_id, route.agent_id, scope, access, route.fallback, route.enabled)
