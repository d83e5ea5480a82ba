"""What one gateway of several holds: connections that only one may listen on, and the sign that it lives."""

from __future__ import annotations

from gateway.ledger.sql.database import Database
from gateway.ledger.sql.deliveries import void_sends
from gateway.ledger.sql.lines import (
    lock_line_of_delivery,
    lock_line_of_turn,
    refresh_deliveries,
    refresh_turns,
)
from gateway.ledger.sql.turns import void_leases

GATEWAY = "gateway "
"""What the name of a living gateway's hold begins with; its owner follows."""

_HOLD = """
INSERT INTO holds (name, owner, until) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE holds.owner = excluded.owner OR holds.until <= ?
"""

_LET_GO = "DELETE FROM holds WHERE owner = ? AND ? IN ('', name)"

_ALIVE = "SELECT count(*) FROM holds WHERE name LIKE 'gateway %' AND until > ?"

_DEAD = "DELETE FROM holds WHERE name LIKE 'gateway %' AND until <= ? RETURNING owner"

_RUNNING = "SELECT id FROM turns WHERE state IN ('queued', 'running') AND state = 'running' AND owner = ?"

_TURN_BACK = """
UPDATE turns SET state = 'queued', ready_at = ?, attempt = attempt - 1
WHERE id = ? AND state = 'running' AND owner = ? RETURNING conversation
"""

_SENDING = "SELECT id FROM deliveries WHERE status IN ('pending', 'sending') AND status = 'sending' AND owner = ?"

_DELIVERY_BACK = """
UPDATE deliveries SET status = 'pending', due_at = ?, attempt = attempt - 1
WHERE id = ? AND status = 'sending' AND owner = ? RETURNING conversation
"""


def hold(db: Database, name: str, owner: str, seconds: float, now: float) -> bool:
    """Take it if it is free or run out, keep it if it is ours."""
    return db.execute(_HOLD, (name, owner, now + seconds, now)).rowcount == 1


def forget(db: Database, owner: str, turns: frozenset[str], deliveries: frozenset[str], now: float) -> None:
    """Give back what is leased to `owner` and not among these."""
    for row in db.execute(_RUNNING, (owner,)).fetchall():
        if row[0] not in turns:
            lock_line_of_turn(db, row[0])
            line = db.execute(_TURN_BACK, (now, row[0], owner)).fetchone()
            if line is not None:
                refresh_turns(db, line[0])
    for row in db.execute(_SENDING, (owner,)).fetchall():
        if row[0] not in deliveries:
            lock_line_of_delivery(db, row[0])
            line = db.execute(_DELIVERY_BACK, (now, row[0], owner)).fetchone()
            if line is not None:
                refresh_deliveries(db, line[0])


def let_go(db: Database, owner: str, name: str) -> None:
    """Give one name back, or with an empty name all of an owner's."""
    db.execute(_LET_GO, (owner, name))


def beat(db: Database, owner: str, seconds: float, now: float) -> tuple[int, bool]:
    """Say that `owner` lives. How many gateways do, and whether work of a dead one was freed."""
    hold(db, f"{GATEWAY}{owner}", owner, seconds, now)
    dead = [row[0] for row in db.execute(_DEAD, (now,)).fetchall()]
    for other in dead:
        void_leases(db, other)
        void_sends(db, now, other)
        let_go(db, other, "")
    alive: int = db.execute(_ALIVE, (now,)).fetchone()[0]
    return alive, bool(dead)
