"""Listings: what is stored, as people and metrics look at it."""

from __future__ import annotations

from gateway.ledger.errors import NotFound
from gateway.ledger.records import ConversationSummary, Delivery, Depths, StoredMessage
from gateway.ledger.sql.codec import (
    CONVERSATION,
    DELIVERY,
    MESSAGE,
    read_conversation,
    read_delivery,
    read_stored,
)
from gateway.ledger.sql.database import Database, Row

_SUMMARY = f"""
SELECT {CONVERSATION}, c.channel, c.scope, c.title, c.messages, c.last_at,
    (SELECT count(*) FROM messages m WHERE m.conversation = c.id AND m.state = 'waiting')
FROM conversations c
"""  # noqa: S608 - column names

_CONVERSATIONS = f"""{_SUMMARY}
WHERE :find = '' OR instr(lower(c.key || ' ' || c.title), lower(:find)) > 0 ORDER BY c.last_at DESC LIMIT :limit
"""

_CONVERSATION = f"{_SUMMARY} WHERE c.key = ?"

_MESSAGES = f"""
SELECT {CONVERSATION}, {MESSAGE} FROM conversations c JOIN messages m ON m.conversation = c.id
WHERE c.key = ? ORDER BY m.seq DESC LIMIT ?
"""  # noqa: S608 - column names

_MESSAGE = f"""
SELECT {CONVERSATION}, {MESSAGE} FROM messages m JOIN conversations c ON c.id = m.conversation WHERE m.id = ?
"""  # noqa: S608 - column names

_DELIVERIES = f"""
SELECT {CONVERSATION}, {DELIVERY} FROM conversations c JOIN deliveries d ON d.conversation = c.id
WHERE c.key = ? ORDER BY d.seq DESC LIMIT ?
"""  # noqa: S608 - column names

_ARRIVALS = """
SELECT accepted_at FROM messages WHERE seq IN (
    SELECT m.seq FROM conversations c JOIN messages m ON m.conversation = c.id
    WHERE c.connection_id = ? ORDER BY m.seq DESC LIMIT ?
) ORDER BY seq DESC
"""

_DEPTHS = """
SELECT
    (SELECT count(*) FROM messages WHERE state = 'waiting')
        + (SELECT coalesce(sum((SELECT count(*) FROM messages WHERE turn_id = turns.id AND state = 'claimed')), 0)
           FROM turns WHERE state IN ('queued', 'running') AND state = 'queued'),
    (SELECT count(*) FROM turns WHERE state IN ('queued', 'running') AND state = 'running'),
    (SELECT count(*) FROM deliveries WHERE status IN ('pending', 'sending')),
    (SELECT count(*) FROM turns WHERE state = 'dead')
        + (SELECT count(*) FROM deliveries WHERE status IN ('failed', 'unknown'))
"""


def conversations(db: Database, limit: int, find: str) -> list[ConversationSummary]:
    """Newest first; a group without a title goes by its chat id."""
    return [_summary(row) for row in db.execute(_CONVERSATIONS, {"limit": limit, "find": find})]


def conversation(db: Database, conversation_key: str) -> ConversationSummary:
    """One of them. Raises NotFound."""
    row = db.execute(_CONVERSATION, (conversation_key,)).fetchone()
    if row is None:
        raise NotFound(
            f"There is no conversation '{conversation_key}'.", fix="`postroom conversation list` shows those there are."
        )
    return _summary(row)


def _summary(row: Row) -> ConversationSummary:
    return ConversationSummary(
        conversation=read_conversation(row),
        channel=row[3],
        scope=row[4],
        title=row[5] or row[1],
        messages=row[6],
        waiting=row[8],
        last_at=row[7],
    )


def messages(db: Database, conversation_key: str, limit: int) -> list[StoredMessage]:
    """The newest messages of a conversation, oldest first."""
    rows = db.execute(_MESSAGES, (conversation_key, limit)).fetchall()
    return [read_stored(row[3:], read_conversation(row)) for row in reversed(rows)]


def message(db: Database, message_id: str) -> StoredMessage:
    """One message. Raises NotFound."""
    row = db.execute(_MESSAGE, (message_id,)).fetchone()
    if row is None:
        raise NotFound(
            f"There is no message '{message_id}'.", fix="`postroom conversation show` lists a conversation's ids."
        )
    return read_stored(row[3:], read_conversation(row))


def arrivals(db: Database, connection_id: str, limit: int) -> list[float]:
    """When the last messages of a connection were accepted, newest first."""
    return [at for (at,) in db.execute(_ARRIVALS, (connection_id, limit))]


def deliveries(db: Database, conversation_key: str, limit: int) -> list[Delivery]:
    """The newest deliveries of a conversation, oldest first."""
    rows = db.execute(_DELIVERIES, (conversation_key, limit)).fetchall()
    return [read_delivery(row[3:], read_conversation(row)) for row in reversed(rows)]


def depths(db: Database) -> Depths:
    """Counted from the indices of what is open; a turn queued to be tried again counts as its waiting messages."""
    return Depths(*db.execute(_DEPTHS).fetchone())
