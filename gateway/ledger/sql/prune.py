"""What is older than it is to be kept. What waits, runs or is dead stays, and so do dedupe keys, for good."""

from __future__ import annotations

from gateway.ledger.records import Pruned
from gateway.ledger.sql.database import Database, Row

# Rows come in the order of their numbers, so the first that is young enough ends what has to be looked at.

_OLD_MESSAGES = """
SELECT seq, turn_id FROM messages
WHERE seq < coalesce((SELECT seq FROM messages WHERE accepted_at >= :before ORDER BY seq LIMIT 1), :all)
    AND state IN ('answered', 'ignored') ORDER BY seq LIMIT :limit
"""

_OLD_DELIVERIES = """
SELECT seq FROM deliveries
WHERE seq < coalesce((SELECT seq FROM deliveries WHERE created_at >= :before ORDER BY seq LIMIT 1), :all)
    AND status IN ('queued', 'sent', 'delivered', 'read', 'discarded') ORDER BY seq LIMIT :limit
"""

_OLD_RUNS = """
SELECT seq FROM runs
WHERE seq < coalesce((SELECT seq FROM runs WHERE started_at >= :before ORDER BY seq LIMIT 1), :all)
ORDER BY seq LIMIT :limit
"""

_OLD_SESSIONS = "SELECT id FROM sessions WHERE last_at < ? LIMIT ?"

_DROP_MESSAGE = "DELETE FROM messages WHERE seq = ? AND state IN ('answered', 'ignored')"

_DROP_TURN = """
DELETE FROM turns WHERE id = ? AND state IN ('answered', 'ignored', 'discarded')
    AND NOT EXISTS (SELECT 1 FROM messages WHERE turn_id = turns.id)
"""

_DROP_JOURNAL = "DELETE FROM journal WHERE turn_id = ? AND NOT EXISTS (SELECT 1 FROM turns WHERE id = journal.turn_id)"

_DROP_DELIVERY = "DELETE FROM deliveries WHERE seq = ?"

_DROP_RUN = "DELETE FROM runs WHERE seq = ?"

_DROP_SESSION = "DELETE FROM sessions WHERE id = ? AND last_at < ?"

ALL = 2**62
"""A number that no row has."""


def prune(db: Database, before: float, limit: int) -> Pruned:
    """Drop at most `limit` rows of each kind."""

    def old(sql: str) -> list[Row]:
        return db.execute(sql, {"before": before, "limit": limit, "all": ALL}).fetchall()

    messages = old(_OLD_MESSAGES)
    db.executemany(_DROP_MESSAGE, [(row[0],) for row in messages])
    turns = [(row[1],) for row in messages if row[1]]
    db.executemany(_DROP_TURN, turns)
    db.executemany(_DROP_JOURNAL, turns)
    deliveries = old(_OLD_DELIVERIES)
    db.executemany(_DROP_DELIVERY, [(row[0],) for row in deliveries])
    runs = old(_OLD_RUNS)
    db.executemany(_DROP_RUN, [(row[0],) for row in runs])
    sessions = db.execute(_OLD_SESSIONS, (before, limit)).fetchall()
    db.executemany(_DROP_SESSION, [(row[0], before) for row in sessions])
    return Pruned(len(messages), len(deliveries), len(runs), len(sessions))
