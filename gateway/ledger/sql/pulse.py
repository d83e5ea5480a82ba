"""What is going on: counts of the last while, and how old is what waits."""

from __future__ import annotations

from gateway.ledger.records import ConnectionPulse, Pulse
from gateway.ledger.sql.database import Database

LATEST = 20_000
"""Rows of a table, from its end, that are looked at: a while in which more came is told as these."""

_RECEIVED = f"""
SELECT c.connection_id, count(*), sum(CASE m.state WHEN 'answered' THEN 1 ELSE 0 END)
FROM messages m JOIN conversations c ON c.id = m.conversation
WHERE m.seq > (SELECT max(seq) FROM messages) - {LATEST} AND m.accepted_at >= ? GROUP BY c.connection_id
"""  # noqa: S608 - a constant of this module

_SENT = f"""
SELECT connection_id, sum(CASE WHEN status IN ('failed', 'unknown') THEN 0 ELSE 1 END),
    sum(CASE WHEN status IN ('failed', 'unknown') THEN 1 ELSE 0 END)
FROM deliveries
WHERE seq > (SELECT max(seq) FROM deliveries) - {LATEST} AND ended_at >= ? AND status != 'discarded'
GROUP BY connection_id
"""  # noqa: S608 - a constant of this module

_RUNS = f"""
SELECT finished_at - started_at, input_tokens + output_tokens FROM runs
WHERE seq > (SELECT max(seq) FROM runs) - {LATEST} AND finished_at >= ?
"""  # noqa: S608 - a constant of this module

_OLDEST_WAITING = "SELECT min(accepted_at) FROM messages WHERE state = 'waiting'"

_OLDEST_TAKEN = """
SELECT min(m.accepted_at) FROM turns t JOIN messages m ON m.turn_id = t.id WHERE t.state IN ('queued', 'running')
"""

_OLDEST_UNSENT = "SELECT min(created_at) FROM deliveries WHERE status IN ('pending', 'sending')"

_NEWEST = "SELECT accepted_at FROM messages WHERE seq = (SELECT max(seq) FROM messages)"

_UNKNOWN = "SELECT count(*) FROM deliveries WHERE status IN ('failed', 'unknown') AND status = 'unknown'"

_LIVING = "SELECT owner FROM holds WHERE name LIKE 'gateway %' AND until > ? ORDER BY owner"


def pulse(db: Database, since: float, now: float) -> Pulse:
    """See Pulse."""
    received = {row[0]: row[1:] for row in db.execute(_RECEIVED, (since,)).fetchall()}
    sent = {row[0]: row[1:] for row in db.execute(_SENT, (since,)).fetchall()}
    runs = db.execute(_RUNS, (since,)).fetchall()
    oldest = [at for sql in (_OLDEST_WAITING, _OLDEST_TAKEN) if (at := db.execute(sql).fetchone()[0]) is not None]
    newest = db.execute(_NEWEST).fetchone()
    return Pulse(
        connections=tuple(
            ConnectionPulse(name, *received.get(name, (0, 0)), *sent.get(name, (0, 0)))
            for name in sorted(received | sent)
        ),
        oldest_open=min(oldest, default=None),
        oldest_unsent=db.execute(_OLDEST_UNSENT).fetchone()[0],
        newest=newest and newest[0],
        unknown=db.execute(_UNKNOWN).fetchone()[0],
        run_seconds=tuple(sorted(row[0] for row in runs)),
        tokens=sum(row[1] for row in runs),
        gateways=tuple(row[0] for row in db.execute(_LIVING, (now,)).fetchall()),
    )
