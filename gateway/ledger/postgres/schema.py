"""The tables in PostgreSQL, and how they came to be, one numbered step after another."""

from __future__ import annotations

from importlib import resources

import psycopg

from gateway.ledger.sql.schema import LedgerTooNew, Step, read_steps

_VERSION = "CREATE TABLE IF NOT EXISTS postroom_schema (version INTEGER NOT NULL)"

_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('postroom schema ' || current_schema(), 0))"


def steps() -> list[Step]:
    """The migrations that ship with this version, in order. Numbered as the embedded ledger's."""
    return read_steps(resources.files("gateway.ledger.postgres") / "migrations")


def migrate(connection: psycopg.Connection, known: list[Step]) -> None:
    """Bring the database to the newest version, all steps or none; one gateway does it, the others wait.

    A step must leave the tables usable by the version before it: during a rolling upgrade both work on them. So a
    database one step ahead is taken as it is. Raises LedgerTooNew beyond that.
    """
    with connection.transaction():
        connection.execute(_ALONE)
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute(_VERSION)
        row = connection.execute("SELECT max(version) FROM postroom_schema").fetchone()
        at: int = (row and row[0]) or 0
        if at > known[-1].version + 1:
            raise LedgerTooNew(
                f"The ledger is of version {at}, this Postroom knows version {known[-1].version}.",
                fix="Upgrade Postroom, or set POSTROOM_DATABASE_URL to another database.",
            )
        for step in known:
            if step.version > at:
                connection.execute(step.sql.encode())
                connection.execute("INSERT INTO postroom_schema (version) VALUES (%s)", (step.version,))
