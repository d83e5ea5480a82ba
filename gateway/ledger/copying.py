"""A ledger from one engine to the other: every row, in one transaction, counted and compared by digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import psycopg

from channels.errors import PostroomError
from gateway.ledger.postgres import schema as postgres_schema
from gateway.ledger.postgres.database import PostgresDatabase, translated
from gateway.ledger.postgres.sessions import connect as connect_postgres
from gateway.ledger.postgres.sessions import unavailable
from gateway.ledger.sql.database import Database, Row
from gateway.ledger.sqlite import schema as sqlite_schema
from gateway.ledger.sqlite.lock import worker_lock

BATCH = 500
"""Rows that go over at once."""

LAST = "config"
"""The counter of configuration changes: writing the others moves it."""


class CopyRefused(PostroomError):
    """The target already holds a ledger, or what arrived is not what was sent. The target is as it was."""

    code = "copy_refused"


@dataclass(frozen=True, slots=True)
class Table:
    """A table's columns, and those of its primary key, by which both engines sort alike."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def read(self) -> str:
        """All rows in order."""
        order = f" ORDER BY {', '.join(self.key)}" if self.key else ""
        return f"SELECT {', '.join(self.columns)} FROM {self.name}{order}"  # noqa: S608 - names of our own schema

    @property
    def write(self) -> str:
        """One row."""
        marks = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({marks})"  # noqa: S608 - the same


_NUMBERED = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = %s AND is_identity = 'YES'
"""

Rows = Callable[[str], Iterator[Row]]
"""Reads a statement's rows one after another."""


def embedded_to_database(path: Path, url: str) -> dict[str, int]:
    """Copy the embedded ledger at `path` into an empty database; its gateway must not run. Rows by table.

    Raises LedgerInUse, CopyRefused, or LedgerUnavailable.
    """
    try:
        with worker_lock(path), closing(sqlite_schema.connect(path, writable=True)) as source:
            sqlite_schema.migrate(source, nullcontext, sqlite_schema.steps())
            with connect_postgres(url) as connection:
                postgres_schema.migrate(connection, postgres_schema.steps())
                with connection.transaction():
                    connection.execute("SET LOCAL statement_timeout = 0")
                    tables = _tables(source)
                    copied = _copy(tables, source.execute, PostgresDatabase(connection), _server_rows(connection))
                    for table in tables:
                        _go_on_counting(connection, table)
                    return copied
    except psycopg.OperationalError as error:
        raise unavailable(error) from error


def database_to_embedded(url: str, path: Path) -> dict[str, int]:
    """Copy one consistent state of the database into a new file, while its gateways go on. Rows by table.

    Raises CopyRefused or LedgerUnavailable.
    """
    try:
        with connect_postgres(url) as connection, closing(sqlite_schema.connect(path, writable=True)) as target:
            sqlite_schema.migrate(target, nullcontext, sqlite_schema.steps())
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                connection.execute("SET LOCAL statement_timeout = 0")
                target.execute("BEGIN")
                copied = _copy(_tables(target), _server_rows(connection), target, target.execute)
                target.execute("COMMIT")
                return copied
    except psycopg.OperationalError as error:
        raise unavailable(error) from error


def _tables(embedded: Database) -> list[Table]:
    names = embedded.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name = ?, name",
        (LAST,),
    ).fetchall()
    tables = []
    for (name,) in names:
        columns = embedded.execute(f"PRAGMA table_info({name})").fetchall()
        key = sorted((column[5], column[1]) for column in columns if column[5])
        tables.append(Table(name, tuple(column[1] for column in columns), tuple(column for _, column in key)))
    return tables


def _copy(tables: list[Table], source: Rows, target: Database, arrived: Rows) -> dict[str, int]:
    counts: dict[str, int] = {}
    for table in tables:
        if table.name != LAST and target.execute(f"SELECT 1 FROM {table.name} LIMIT 1").fetchone():  # noqa: S608
            raise CopyRefused(
                f"The ledger to copy to is not empty: it has rows in {table.name}.",
                fix="Use a database, or a schema, without a Postroom ledger in it.",
            )
    for table in tables:
        if table.name == LAST:
            target.execute(f"DELETE FROM {LAST}")  # noqa: S608 - a constant
        rows: Iterator[Row] = map(_plain, source(table.read))
        sent = hashlib.sha256()
        counts[table.name] = 0
        while batch := list(islice(rows, BATCH)):
            counts[table.name] += len(batch)
            for row in batch:
                sent.update(repr(row).encode())
            target.executemany(table.write, batch)
        got = hashlib.sha256()
        for row in arrived(table.read):
            got.update(repr(_plain(row)).encode())
        if got.digest() != sent.digest():
            raise CopyRefused(
                f"What arrived in {table.name} is not what was sent.", fix="Nothing was kept; try again, and report it."
            )
    return counts


def _plain(row: Row) -> tuple[object, ...]:
    """A row as both engines give it back: PostgreSQL has no U+0000 in a text."""
    return tuple(value.replace("\x00", "\ufffd") if isinstance(value, str) else value for value in row)


def _server_rows(connection: psycopg.Connection) -> Rows:
    """Rows through a cursor on the server, so that no table has to fit into memory."""

    def rows(sql: str) -> Iterator[Row]:
        with connection.cursor(name="copying") as cursor:
            cursor.itersize = BATCH
            yield from cursor.execute(translated(sql))

    return rows


def _go_on_counting(connection: psycopg.Connection, table: Table) -> None:
    """Let the next row get the number after the greatest there is."""
    for (column,) in connection.execute(_NUMBERED, (table.name,)).fetchall():
        greatest = f"SELECT max({column}) FROM {table.name}"  # noqa: S608 - names of our own schema
        connection.execute(f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column}'), ({greatest}))".encode())
