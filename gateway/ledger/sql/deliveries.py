"""Deliveries: sent in order per conversation, one at a time; what may have been sent twice is marked."""

from __future__ import annotations

from collections.abc import Sequence

from ulid import ULID

from channels.adapter import Receipt
from channels.message import StatusUpdate
from gateway.ledger.records import Delivery, DueDeliveries, Piece
from gateway.ledger.sql.codec import CONVERSATION, DELIVERY, read_conversation, read_delivery
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.lines import lock_line_of_delivery, refresh_deliveries

RESEND_WITHIN = 600.0
"""A reply this young is sent again after a crash in the middle of its send; anything else waits for a person."""

EARLY_REPORTS_KEPT = 3600.0
"""Seconds a status report waits for the answer to the call it is about."""

UNKNOWN = "The sender stopped in the middle of this send; whether it arrived is unknown."

_FORWARD = {"pending": 0, "sending": 0, "unknown": 0, "queued": 1, "sent": 2, "delivered": 3, "read": 4}
"""How far a delivery got. `failed` and `discarded` are ends that no report changes."""

_QUEUE = """
INSERT INTO deliveries (id, conversation, connection_id, turn_id, call, purpose, status, created_at, due_at)
VALUES (?, ?, (SELECT connection_id FROM conversations WHERE id = ?), ?, ?, ?, 'pending', ?, ?)
"""

_READY = "SELECT c.id FROM conversations c WHERE c.delivery_at <= ? ORDER BY c.delivery_at LIMIT ?"

_NEXT = "SELECT delivery_at FROM conversations WHERE delivery_at > ? ORDER BY delivery_at LIMIT 1"

_HEAD = """
SELECT seq, status, due_at, purpose, created_at FROM deliveries
WHERE conversation = ? AND status IN ('pending', 'sending') ORDER BY seq LIMIT 1
"""

_SEND = "UPDATE deliveries SET status = 'sending', attempt = attempt + 1, due_at = ?, owner = ? WHERE seq = ?"

_READ = f"""
SELECT {CONVERSATION}, {DELIVERY} FROM deliveries d JOIN conversations c ON c.id = d.conversation WHERE d.seq = ?
"""  # noqa: S608 - column names

_RESEND = "UPDATE deliveries SET status = 'pending', ambiguous = 1, due_at = ? WHERE seq = ?"

_DOUBT = "UPDATE deliveries SET status = 'unknown', ambiguous = 1, error = ?, ended_at = ? WHERE seq = ?"

_DELIVERED = """
UPDATE deliveries SET status = ?, provider_ref = ?, error = '', ended_at = ?
WHERE id = ? AND status IN ('pending', 'sending', 'unknown') RETURNING seq, conversation, connection_id
"""

_POSTPONE = """
UPDATE deliveries SET status = 'pending', due_at = ?, error = ?, attempt = attempt - ?
WHERE id = ? AND status = 'sending' AND attempt = ? RETURNING conversation
"""

_FAILED = """
UPDATE deliveries SET status = 'failed', error = ?, ended_at = ?
WHERE id = ? AND status = 'sending' AND attempt = ? RETURNING conversation
"""

_BY_REF = """
SELECT seq, status FROM deliveries WHERE connection_id = ? AND provider_ref = ? AND provider_ref != ''
ORDER BY seq DESC LIMIT 1
"""

_REPORTED = "UPDATE deliveries SET status = ?, error = ?, ended_at = ? WHERE seq = ?"

_EARLY = "SELECT state, error FROM early_reports WHERE connection_id = ? AND provider_ref = ?"

_KEEP_EARLY = """
INSERT INTO early_reports (connection_id, provider_ref, state, error, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (connection_id, provider_ref) DO UPDATE SET state = excluded.state, error = excluded.error, at = excluded.at
"""

_DROP_EARLY = "DELETE FROM early_reports WHERE connection_id = ? AND provider_ref = ?"

_DROP_OLD = "DELETE FROM early_reports WHERE at < ?"

_SENDING = """
SELECT seq, conversation, purpose, created_at FROM deliveries
WHERE status IN ('pending', 'sending') AND status = 'sending' AND :owner IN ('', owner)
"""

_LINES_SENDING = """
SELECT c.id FROM conversations c JOIN deliveries d ON d.conversation = c.id
WHERE d.status IN ('pending', 'sending') AND d.status = 'sending' AND :owner IN ('', d.owner)
"""


def queue(db: Database, line: int, pieces: Sequence[Piece], now: float, turn_id: str = "") -> float | None:
    """Put pieces at the end of a line, in order. When its first open one is due."""
    db.executemany(
        _QUEUE,
        [(str(ULID()), line, line, turn_id, piece.call.to_json(), piece.purpose, now, now) for piece in pieces],
    )
    return refresh_deliveries(db, line)


def due(db: Database, owner: str, limit: int, lease: float, now: float) -> DueDeliveries:
    """Mark the first due delivery of each line as sending."""
    lines = db.execute(_READY + db.skip_locked, (now, limit)).fetchall()
    taken = [delivery for (line,) in lines if (delivery := _take(db, line, owner, now + lease, now)) is not None]
    later = db.execute(_NEXT, (now,)).fetchone()
    return DueDeliveries(tuple(taken), None if later is None else later[0])


def delivered(db: Database, delivery: Delivery, receipt: Receipt, now: float) -> float | None:
    """The provider's word stands, whoever brings it. When the line's next delivery is due, if at all."""
    db.lock_name(_ref(delivery.conversation.connection_id, receipt.provider_ref))
    lock_line_of_delivery(db, delivery.id)
    row = db.execute(_DELIVERED, (receipt.state, receipt.provider_ref, now, delivery.id)).fetchone()
    if row is None:
        return None
    seq, line, connection_id = row
    early = db.execute(_EARLY, (connection_id, receipt.provider_ref)).fetchone()
    if early is not None:
        _step(db, seq, receipt.state, early[0], early[1], now)
        db.execute(_DROP_EARLY, (connection_id, receipt.provider_ref))
    return refresh_deliveries(db, line)


def postpone(db: Database, delivery: Delivery, at: float, error: str, *, tried: bool) -> float | None:
    """Make it due again, unless another sender has it by now. When the line's next delivery is due, if at all."""
    lock_line_of_delivery(db, delivery.id)
    return _refresh_after(db, _POSTPONE, (at, error, not tried, delivery.id, delivery.attempt))


def failed(db: Database, delivery: Delivery, error: str, now: float) -> float | None:
    """Make it a dead letter, unless another sender has it by now. When the line's next delivery is due, if at all."""
    lock_line_of_delivery(db, delivery.id)
    return _refresh_after(db, _FAILED, (error, now, delivery.id, delivery.attempt))


def report(db: Database, connection_id: str, update: StatusUpdate, now: float) -> bool:
    """Move a delivery forward. A report that is quicker than its call's answer is kept for it."""
    error = ": ".join(part for part in (update.code, update.detail) if part) if update.state == "failed" else ""
    db.lock_name(_ref(connection_id, update.provider_ref))
    row = db.execute(_BY_REF, (connection_id, update.provider_ref)).fetchone()
    if row is not None:
        _step(db, row[0], row[1], update.state, error, now)
        return True
    if update.provider_ref:
        before = db.execute(_EARLY, (connection_id, update.provider_ref)).fetchone()
        if _is_forward("sending" if before is None else before[0], update.state):
            db.execute(_KEEP_EARLY, (connection_id, update.provider_ref, update.state, error, now))
        db.execute(_DROP_OLD, (now - EARLY_REPORTS_KEPT,))
    return False


def void_sends(db: Database, now: float, owner: str = "") -> None:
    """Settle the sends that a dead sender had under way, or all."""
    db.lock_lines(_LINES_SENDING, {"owner": owner})
    for seq, line, purpose, created_at in db.execute(_SENDING, {"owner": owner}).fetchall():
        _settle(db, seq, purpose, created_at, now)
        refresh_deliveries(db, line)


def _take(db: Database, line: int, owner: str, lease_until: float, now: float) -> Delivery | None:
    taken = None
    while (row := db.execute(_HEAD, (line,)).fetchone()) is not None:
        seq, status, due_at, purpose, created_at = row
        if due_at > now:
            break
        if status == "pending":
            db.execute(_SEND, (lease_until, owner, seq))
            row = db.execute(_READ, (seq,)).fetchone()
            taken = read_delivery(row[3:], read_conversation(row))
            break
        _settle(db, seq, purpose, created_at, now)
    refresh_deliveries(db, line)
    return taken


def _ref(connection_id: str, provider_ref: str) -> str:
    """What a report and the answer to its call both lock, so that neither misses the other."""
    return f"{connection_id} {provider_ref}"


def _settle(db: Database, seq: int, purpose: str, created_at: float, now: float) -> None:
    """Decide about a send whose end nobody knows."""
    if purpose == "reply" and now - created_at < RESEND_WITHIN:
        db.execute(_RESEND, (now, seq))
    else:
        db.execute(_DOUBT, (UNKNOWN, now, seq))


def _refresh_after(db: Database, sql: str, values: tuple[object, ...]) -> float | None:
    row = db.execute(sql, values).fetchone()
    return None if row is None else refresh_deliveries(db, row[0])


def _step(db: Database, seq: int, status: str, state: str, error: str, now: float) -> None:
    if _is_forward(status, state):
        db.execute(_REPORTED, (state, error, now, seq))


def _is_forward(status: str, state: str) -> bool:
    """A provider's reports come in any order. A failure counts until the message was seen to arrive."""
    if status not in _FORWARD:
        return False
    if state == "failed":
        return _FORWARD[status] < _FORWARD["delivered"]
    return _FORWARD.get(state, 0) > _FORWARD[status]
