"""The file: how it is opened, and how its tables came to be, one numbered step after another."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path

from gateway.ledger.sql.schema import LedgerTooNew, Step, read_steps

BUSY_SECONDS = 15.0
"""How long to wait for another process's transaction before a write counts as failed."""


def steps() -> list[Step]:
    """The migrations that ship with this version, in order."""
    return read_steps(resources.files("gateway.ledger.sqlite") / "migrations")


class SqliteDatabase(sqlite3.Connection):
    """A connection as the queries see it: one process writes at a time, so that there is nothing to lock."""

    skip_locked = ""

    def lock(self, sql: str, parameters: object) -> None:
        """See Database."""

    def lock_lines(self, sql: str, parameters: object) -> None:
        """See Database."""

    def lock_name(self, name: str) -> None:
        """See Database."""

    def damage(self) -> list[str]:
        """See Database."""
        return [said for (said,) in self.execute("PRAGMA integrity_check") if said != "ok"]


def connect(path: Path, *, writable: bool) -> SqliteDatabase:
    """Open the file; a writer's commits are on disk when they return. Raises sqlite3.Error."""
    if writable:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    db = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=SqliteDatabase
    )
    if writable:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA cache_size = -16000")
    else:
        db.execute("PRAGMA query_only = ON")
    return db


def migrate(db: sqlite3.Connection, alone: Callable[[], AbstractContextManager[None]], known: Sequence[Step]) -> None:
    """Bring the file to the newest version, each step whole or not at all.

    `alone` is entered before a file with tables is changed: an older version may be at work on it. Raises LedgerTooNew,
    and what `alone` raises.
    """
    newest = known[-1].version
    at = _version(db)
    if at > newest:
        raise LedgerTooNew(
            f"The ledger is of version {at}, this Postroom knows version {newest}.",
            fix="Upgrade Postroom, or start it with another POSTROOM_HOME.",
        )
    if at == 0:
        _apply(db, known)
    elif at < newest:
        with alone():
            _apply(db, known)


def _apply(db: sqlite3.Connection, known: Sequence[Step]) -> None:
    for step in known:
        db.execute("BEGIN IMMEDIATE")
        try:
            if _version(db) < step.version:  # another process may have been quicker
                for statement in _statements(step.sql):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {step.version}")
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def _statements(script: str) -> Iterator[str]:
    """Single statements, each ending its line: `executescript` would commit between them."""
    part = ""
    for line in script.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            yield part
            part = ""
