"""What people do beside the agents: conversations they answer themselves, and the log of what they changed."""

from __future__ import annotations

from gateway.ledger.audit import Change, Takeover
from gateway.ledger.sql.database import Database

_TAKE = "INSERT INTO takeovers (conversation_key, person, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

_GIVE = "DELETE FROM takeovers WHERE conversation_key = ?"

_TAKEN = "SELECT conversation_key, person, at FROM takeovers ORDER BY conversation_key"

_NOTE = "INSERT INTO audit (at, person, action, target, before, after) VALUES (?, ?, ?, ?, ?, ?)"

_AUDIT = "SELECT person, action, target, before, after, at FROM audit ORDER BY seq DESC LIMIT ?"


def step_in(db: Database, conversation_key: str, person: str, now: float) -> None:
    """From now on a person answers; the first one who takes it has it."""
    db.execute(_TAKE, (conversation_key, person, now))


def hand_back(db: Database, conversation_key: str) -> None:
    """The agent answers again."""
    db.execute(_GIVE, (conversation_key,))


def takeovers(db: Database) -> list[Takeover]:
    """All, by conversation."""
    return [Takeover(*row) for row in db.execute(_TAKEN)]


def note(db: Database, change: Change, now: float) -> None:
    """Write one line."""
    db.execute(_NOTE, (now, change.person, change.action, change.target, change.before, change.after))


def audit(db: Database, limit: int) -> list[Change]:
    """Newest first."""
    return [Change(*row) for row in db.execute(_AUDIT, (limit,))]
