"""Conversations as lines: each row knows when its next turn and its next delivery are due.

Whatever changes a conversation's messages, turns or deliveries refreshes its line, so that claiming looks at an index
and never at the work itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from channels.message import ChatKind, Conversation, InboundMessage
from gateway.ledger.sql.database import Cursor, Database

LONGEST_HOLD = 10.0
"""Seconds after its first waiting message when a turn may start at the latest, however long the holds asked for."""

_UPSERT = """
INSERT INTO conversations (key, connection_id, chat_id, thread_id, channel, scope, title, messages, last_at, hold_until)
VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    channel = excluded.channel,
    scope = excluded.scope,
    title = CASE WHEN excluded.title = '' THEN conversations.title ELSE excluded.title END,
    messages = conversations.messages + 1,
    last_at = excluded.last_at,
    hold_until = max(conversations.hold_until, excluded.hold_until)
RETURNING id, turn_at
"""

_OPEN = """
INSERT INTO conversations (key, connection_id, chat_id, thread_id, channel, scope, title, messages, last_at)
VALUES (?, ?, ?, ?, coalesce((SELECT channel FROM connections WHERE id = ?), ''), ?, '', 0, ?)
ON CONFLICT (key) DO NOTHING
"""

_FIND = "SELECT id FROM conversations WHERE key = ?"

_BY_KEY = "SELECT c.id FROM conversations c WHERE c.key = ?"

_BY_TURN = "SELECT c.id FROM conversations c JOIN turns t ON t.conversation = c.id WHERE t.id = ?"

_BY_DELIVERY = "SELECT c.id FROM conversations c JOIN deliveries d ON d.conversation = c.id WHERE d.id = ?"

_REFRESH_TURNS = f"""
UPDATE conversations SET turn_at = coalesce(
    (SELECT min(lease_until) FROM turns
     WHERE conversation = :line AND state IN ('queued', 'running') AND state = 'running'),
    (SELECT ready_at FROM turns
     WHERE conversation = :line AND state IN ('queued', 'running') ORDER BY position LIMIT 1),
    (SELECT max(conversations.served_at,
                min(max(accepted_at, conversations.hold_until), accepted_at + {LONGEST_HOLD}))
     FROM messages WHERE conversation = :line AND state = 'waiting' ORDER BY seq LIMIT 1)
)
WHERE id = :line
RETURNING turn_at
"""  # noqa: S608 - a constant of this module

_REFRESH_DELIVERIES = """
UPDATE conversations SET delivery_at = (
    SELECT due_at FROM deliveries
    WHERE conversation = :line AND status IN ('pending', 'sending') ORDER BY seq LIMIT 1
)
WHERE id = :line
RETURNING delivery_at
"""


def arrived(db: Database, message: InboundMessage, hold: float, now: float) -> tuple[int, bool]:
    """The line a message joins, made if need be, and whether it already had a turn to wait for."""
    conversation = message.conversation
    number, turn_at = db.execute(
        _UPSERT,
        (
            conversation.key,
            conversation.connection_id,
            conversation.chat_id,
            conversation.thread_id,
            message.channel,
            message.scope,
            _title(message),
            now,
            now + hold if hold > 0 else 0.0,
        ),
    ).fetchone()
    return number, turn_at is not None


def line_of(db: Database, conversation: Conversation, now: float, scope: ChatKind = "dm") -> int:
    """The line of a conversation, made if nothing was ever said in it."""
    c = conversation
    db.execute(_OPEN, (c.key, c.connection_id, c.chat_id, c.thread_id, c.connection_id, scope, now))
    db.lock_lines(_BY_KEY, (c.key,))
    number: int = db.execute(_FIND, (c.key,)).fetchone()[0]
    return number


def lock_lines_of(db: Database, conversations: Iterable[Conversation]) -> None:
    """Hold what lines several conversations have. One by itself is held when it is first written to."""
    keys = {conversation.key for conversation in conversations}
    if len(keys) > 1:
        for key in sorted(keys):
            db.lock_lines(_BY_KEY, (key,))


def lock_line_of_turn(db: Database, turn_id: str) -> None:
    """Keep other gateways from a turn's line until the transaction ends; before anything of the line is read."""
    db.lock_lines(_BY_TURN, (turn_id,))


def lock_line_of_delivery(db: Database, delivery_id: str) -> None:
    """The same for a delivery's line."""
    db.lock_lines(_BY_DELIVERY, (delivery_id,))


def refresh_turns(db: Database, line: int) -> float | None:
    """Work out when this line's next turn can be claimed; None if there is none."""
    return _when(db.execute(_REFRESH_TURNS, {"line": line}))


def refresh_deliveries(db: Database, line: int) -> float | None:
    """Work out when this line's first open delivery is due; None if there is none."""
    return _when(db.execute(_REFRESH_DELIVERIES, {"line": line}))


def _when(cursor: Cursor) -> float | None:
    at: float | None = cursor.fetchone()[0]
    return at


def _title(message: InboundMessage) -> str:
    """Whom a listing names: the person in a direct chat, the chat's own title where the channel tells one."""
    if message.scope != "dm":
        title = message.data.get("chat_title")
        return title if isinstance(title, str) else ""
    sender = message.sender
    return "" if sender.is_self else sender.name or sender.handle or sender.id
