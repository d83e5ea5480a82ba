"""Dead letters: turns and deliveries that ran out of tries, and sends whose end nobody knows."""

from __future__ import annotations

from channels.adapter import Call
from channels.message import InboundMessage
from gateway.ledger.errors import NotFound
from gateway.ledger.records import DeadLetter
from gateway.ledger.sql.codec import read_conversation
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.lines import lock_line_of_delivery, lock_line_of_turn, refresh_deliveries, refresh_turns

PREVIEW = 120
"""Characters of a text that a listing shows."""

TEXT_PARAMETERS = ("text", "caption", "body")
"""Under which names the providers' calls carry what is said."""

_LETTERS = """
SELECT * FROM (
    SELECT t.id, 'turn', t.error, t.attempt, t.ended_at AS at, c.connection_id, c.chat_id, c.thread_id,
        (SELECT m.data FROM messages m WHERE m.turn_id = t.id AND m.state = 'dead' ORDER BY m.seq LIMIT 1)
    FROM turns t JOIN conversations c ON c.id = t.conversation
    WHERE t.state = 'dead' ORDER BY t.ended_at DESC LIMIT :limit
) AS dead_turns UNION ALL SELECT * FROM (
    SELECT d.id, 'delivery', d.error, d.attempt, d.ended_at, c.connection_id, c.chat_id, c.thread_id, d.call
    FROM deliveries d JOIN conversations c ON c.id = d.conversation
    WHERE d.status IN ('failed', 'unknown') ORDER BY d.ended_at DESC LIMIT :limit
) AS dead_sends ORDER BY at DESC LIMIT :limit
"""

_REPLAY_TURN = """
UPDATE turns SET state = 'queued', attempt = 0, ready_at = ?, ended_at = NULL WHERE id = ? AND state = 'dead'
RETURNING conversation
"""

_REVIVE = "UPDATE messages SET state = 'claimed', reason = '' WHERE turn_id = ? AND state = 'dead'"

_REPLAY_DELIVERY = """
UPDATE deliveries SET status = 'pending', attempt = 0, due_at = ?, ended_at = NULL, provider_ref = ''
WHERE id = ? AND status IN ('failed', 'unknown') RETURNING conversation
"""

_DISCARD_TURN = "UPDATE turns SET state = 'discarded', error = error || ? WHERE id = ? AND state = 'dead'"

_DISCARD_MESSAGES = "UPDATE messages SET reason = reason || ? WHERE turn_id = ? AND state = 'dead'"

_DISCARD_DELIVERY = """
UPDATE deliveries SET status = 'discarded', error = error || ? WHERE id = ? AND status IN ('failed', 'unknown')
"""


def dead_letters(db: Database, limit: int) -> list[DeadLetter]:
    """What a person should look at, newest first."""
    return [
        DeadLetter(
            id=id_,
            kind=kind,
            conversation=read_conversation(where),
            error=error,
            attempts=attempts,
            at=at,
            preview=_said(data) if kind == "turn" else _saying(data),
        )
        for id_, kind, error, attempts, at, *where, data in db.execute(_LETTERS, {"limit": limit})
    ]


def replay(db: Database, letter_id: str, now: float) -> None:
    """Queue it again with its tries to come, in the place it had."""
    _lock(db, letter_id)
    turn = db.execute(_REPLAY_TURN, (now, letter_id)).fetchone()
    if turn is not None:
        db.execute(_REVIVE, (letter_id,))
        refresh_turns(db, turn[0])
        return
    delivery = db.execute(_REPLAY_DELIVERY, (now, letter_id)).fetchone()
    if delivery is None:
        raise _not_found(letter_id)
    refresh_deliveries(db, delivery[0])


def discard(db: Database, letter_id: str, reason: str) -> None:
    """Close it; its error goes on to say why."""
    _lock(db, letter_id)
    note = f" (discarded: {reason})"
    if db.execute(_DISCARD_TURN, (note, letter_id)).rowcount:
        db.execute(_DISCARD_MESSAGES, (note, letter_id))
    elif not db.execute(_DISCARD_DELIVERY, (note, letter_id)).rowcount:
        raise _not_found(letter_id)


def _lock(db: Database, letter_id: str) -> None:
    lock_line_of_turn(db, letter_id)
    lock_line_of_delivery(db, letter_id)


def _not_found(letter_id: str) -> NotFound:
    return NotFound(f"There is no dead letter '{letter_id}'.", fix="`postroom dead-letter list` shows those there are.")


def _said(data: bytes) -> str:
    message = InboundMessage.from_json(data)
    return (message.text or f"[{message.kind}]")[:PREVIEW]


def _saying(data: bytes) -> str:
    """What a call says, without its markup where it carries a plain form; its method where it says nothing."""
    call = Call.from_json(data)
    params = call.params if call.plain is None else call.plain
    said = (params.get(name) for name in TEXT_PARAMETERS)
    return next((text for text in said if isinstance(text, str) and text), call.method)[:PREVIEW]
