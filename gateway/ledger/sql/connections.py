"""Connections and their sealed secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pydantic import TypeAdapter

from gateway.ledger.errors import NotFound
from gateway.ledger.sql.database import Database
from routes.connection import Connection

_CONNECTION = TypeAdapter(Connection)

_ALL = "SELECT data FROM connections ORDER BY id"

_NAMES = "SELECT connection_id, name FROM secrets ORDER BY connection_id, name"

_PUT = """
INSERT INTO connections (id, channel, data) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET channel = excluded.channel, data = excluded.data
"""

_SEAL = """
INSERT INTO secrets (connection_id, name, sealed) VALUES (?, ?, ?)
ON CONFLICT (connection_id, name) DO UPDATE SET sealed = excluded.sealed
"""

_SERIAL = "SELECT c.version FROM config c"

_REMOVE = "DELETE FROM connections WHERE id = ?"

_REMOVE_REST = ("DELETE FROM secrets WHERE connection_id = ?", "DELETE FROM routes WHERE connection_id = ?")

_SECRETS = "SELECT name, sealed FROM secrets WHERE connection_id = ?"

_ALL_SECRETS = "SELECT connection_id, name, sealed FROM secrets"


def connections(db: Database) -> list[Connection]:
    """All, by id; their secret names are those of the secrets there are."""
    names: dict[str, list[str]] = {}
    for connection_id, name in db.execute(_NAMES):
        names.setdefault(connection_id, []).append(name)
    stored = [_CONNECTION.validate_json(data) for (data,) in db.execute(_ALL)]
    return [replace(c, secret_names=tuple(names.get(c.id, ()))) for c in stored]


def in_series(db: Database) -> None:
    """Let changes of configuration wait for one another: what one decides by must not change under it."""
    db.lock(_SERIAL, ())


def put_connection(db: Database, connection: Connection, secrets: Mapping[str, bytes]) -> None:
    """Insert or replace; secrets that aren't named stay."""
    in_series(db)
    data = _CONNECTION.dump_json(replace(connection, secret_names=())).decode()
    db.execute(_PUT, (connection.id, connection.channel, data))
    db.executemany(_SEAL, [(connection.id, name, sealed) for name, sealed in secrets.items()])


def remove_connection(db: Database, connection_id: str) -> None:
    """Remove a connection with what belongs to it. Raises NotFound."""
    in_series(db)
    if not db.execute(_REMOVE, (connection_id,)).rowcount:
        raise NotFound(
            f"There is no connection '{connection_id}'.", fix="`postroom connection list` shows those there are."
        )
    for statement in _REMOVE_REST:
        db.execute(statement, (connection_id,))


def secrets(db: Database, connection_id: str) -> dict[str, bytes]:
    """The sealed secrets of a connection, by name."""
    return dict(db.execute(_SECRETS, (connection_id,)).fetchall())


def reseal(db: Database, seal: Callable[[bytes], bytes]) -> int:
    """Seal every secret anew. How many there are."""
    in_series(db)
    rows = db.execute(_ALL_SECRETS).fetchall()
    db.executemany(_SEAL, [(connection_id, name, seal(sealed)) for connection_id, name, sealed in rows])
    return len(rows)
