"""What one gateway of several holds: connections that only one may listen on, and the sign that it lives."""

from __future__ import annotations

from gateway.ledger.sql.database import Database
from gateway.ledger.sql.deliveries import void_sends
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


def hold(db: Database, name: str, owner: str, seconds: float, now: float) -> bool:
    """Take it if it is free or run out, keep it if it is ours."""
    return db.execute(_HOLD, (name, owner, now + seconds, now)).rowcount == 1


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
