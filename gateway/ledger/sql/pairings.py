"""Pairings: one open request for each stranger and route, so many on a connection."""

from __future__ import annotations

from gateway.ledger.errors import NotFound
from gateway.ledger.pairing import Pairing
from gateway.ledger.sql.connections import in_series
from gateway.ledger.sql.database import Database

_DROP_OLD = "DELETE FROM pairings WHERE expires_at <= ?"

_COUNT = "SELECT count(*) FROM pairings WHERE connection_id = ?"

_ADD = """
INSERT INTO pairings (code, connection_id, route_id, sender_id, name, expires_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""

_ALL = """
SELECT code, connection_id, route_id, sender_id, name, expires_at FROM pairings WHERE expires_at > ? ORDER BY code
"""

_TAKE = """
DELETE FROM pairings WHERE code = ? AND expires_at > ?
RETURNING code, connection_id, route_id, sender_id, name, expires_at
"""


def ask(db: Database, pairing: Pairing, most: int, now: float) -> bool:
    """Keep a request, unless this stranger has one open or the connection has too many."""
    in_series(db)
    db.execute(_DROP_OLD, (now,))
    if db.execute(_COUNT, (pairing.connection_id,)).fetchone()[0] >= most:
        return False
    p = pairing
    values = (p.code, p.connection_id, p.route_id, p.sender_id, p.name, p.expires_at)
    return db.execute(_ADD, values).rowcount == 1


def pairings(db: Database, now: float) -> list[Pairing]:
    """Those that are open."""
    return [Pairing(*row) for row in db.execute(_ALL, (now,)).fetchall()]


def settle(db: Database, code: str, now: float) -> Pairing:
    """Take one out, once. Raises NotFound."""
    row = db.execute(_TAKE, (code, now)).fetchone()
    if row is None:
        raise NotFound(f"There is no open pairing '{code}'.", fix="See what waits: postroom pairing list")
    return Pairing(*row)
