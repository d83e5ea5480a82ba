"""The clock was moved: what waits moves with it, so that leases last and nothing waits for a time to come."""

from __future__ import annotations

from gateway.ledger.sql.database import Database

_TURNS = """
UPDATE turns SET ready_at = ready_at + :by, lease_until = lease_until + :by WHERE state IN ('queued', 'running')
"""

_MESSAGES = "UPDATE messages SET accepted_at = accepted_at + :by WHERE state = 'waiting'"

_DELIVERIES = "UPDATE deliveries SET due_at = due_at + :by WHERE status IN ('pending', 'sending')"

_LINES = """
UPDATE conversations SET turn_at = turn_at + :by, delivery_at = delivery_at + :by, hold_until = hold_until + :by
WHERE turn_at IS NOT NULL OR delivery_at IS NOT NULL
"""

_SERVED = "UPDATE conversations SET served_at = :now WHERE served_at > :now"

_PAIRINGS = "UPDATE pairings SET expires_at = expires_at + :by"

_NEWEST = "SELECT accepted_at FROM messages WHERE seq = (SELECT max(seq) FROM messages)"


def shift(db: Database, by: float, now: float) -> None:
    """Move what waits by so many seconds; `now` is the time after it."""
    for statement in (_TURNS, _MESSAGES, _DELIVERIES, _LINES, _PAIRINGS):
        db.execute(statement, {"by": by})
    db.execute(_SERVED, {"now": now})


def back_from_the_future(db: Database, now: float) -> None:
    """Where the newest message is of a time to come, the clock was wrong when it was written, or is now."""
    newest = db.execute(_NEWEST).fetchone()
    if newest is not None and newest[0] > now:
        shift(db, now - newest[0], now)
