"""A PostgreSQL connection as the queries see it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import psycopg

from gateway.ledger.sql.database import Parameters

_NAMED = re.compile(r"(?<![:\w]):([a-z_]+)")


@lru_cache(maxsize=512)
def translated(sql: str) -> bytes:
    """The statement with psycopg's placeholders for `?` and `:name`."""
    return _NAMED.sub(r"%(\1)s", sql.replace("%", "%%").replace("?", "%s")).encode()


def _value(value: object) -> object:
    """A value that PostgreSQL takes: it has no text with U+0000, and our flags are numbers."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    return int(value) if isinstance(value, bool) else value


def _values(parameters: Parameters) -> Any:
    if isinstance(parameters, Mapping):
        return {name: _value(value) for name, value in parameters.items()}
    return [_value(value) for value in parameters]


class PostgresDatabase:
    """One connection in a transaction. Row locks are real here: several gateways write at once."""

    skip_locked = " FOR UPDATE OF c SKIP LOCKED"

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Parameters = (), /) -> psycopg.Cursor:
        """See Database."""
        return self._connection.execute(translated(sql), _values(parameters))

    def executemany(self, sql: str, parameters: Iterable[Parameters], /) -> psycopg.Cursor:
        """See Database."""
        cursor = self._connection.cursor()
        cursor.executemany(translated(sql), [_values(each) for each in parameters])
        return cursor

    def lock(self, sql: str, parameters: Parameters) -> None:
        """See Database."""
        self.execute(f"{sql} FOR UPDATE OF c", parameters)

    def lock_lines(self, sql: str, parameters: Parameters) -> None:
        """See Database. The order is Python's and not that of the database's language."""
        self.lock(f'{sql} ORDER BY c.key COLLATE "C"', parameters)

    def lock_name(self, name: str) -> None:
        """See Database."""
        self.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (name,))

    def damage(self) -> list[str]:
        """See Database: the server checks its pages by itself, where it was set up with checksums."""
        return []
