"""Erasing a person: what they wrote, what was said to them, and what shows who they are. What keeps order stays."""

from __future__ import annotations

from dataclasses import replace

from pydantic import TypeAdapter
from ulid import ULID

from channels.adapter import Call
from channels.message import Conversation, InboundMessage, Sender
from gateway.ledger.records import Erased
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.lines import refresh_deliveries, refresh_turns

NOBODY = "erased"

_ID = TypeAdapter(str)
"""Writes an id as it stands in a stored message."""

_THEIRS = """
SELECT m.seq, m.conversation, m.turn_id, m.data FROM conversations c JOIN messages m ON m.conversation = c.id
WHERE c.connection_id = ? AND instr(m.data, ?) > 0
"""

_ALL_LINES = "SELECT c.id FROM conversations c WHERE c.connection_id = ?"

_BLANK_MESSAGE = """
UPDATE messages SET data = ?, state = CASE state WHEN 'waiting' THEN 'ignored' ELSE state END,
    reason = CASE state WHEN 'waiting' THEN 'erased' ELSE reason END WHERE seq = ?
"""

_WHERE = "SELECT connection_id, chat_id, thread_id, scope FROM conversations WHERE id = ?"

_RENAME = "UPDATE conversations SET key = ?, chat_id = ?, thread_id = NULL, title = ? WHERE id = ?"

_SESSIONS = "DELETE FROM sessions WHERE conversation = ?"

_ALL_RUNS = "UPDATE runs SET detail = '{}' WHERE conversation = ?"

_RUN = "UPDATE runs SET detail = '{}' WHERE conversation = ? AND turn_id = ?"

_JOURNAL = "DELETE FROM journal WHERE turn_id = ?"

_SAID = "SELECT seq, turn_id, call FROM deliveries WHERE conversation = ?"

_BLANK_DELIVERY = """
UPDATE deliveries SET call = ?, error = '',
    status = CASE WHEN status IN ('pending', 'sending', 'unknown') THEN 'discarded' ELSE status END WHERE seq = ?
"""

_ERRORS = "UPDATE turns SET error = '' WHERE id = ?"

_PAIRINGS = "DELETE FROM pairings WHERE connection_id = ? AND sender_id = ?"

_ARRIVALS = "DELETE FROM arrivals WHERE connection_id = ? AND sender_id = ?"


def erase(db: Database, connection_id: str, person: str) -> Erased:
    """Blank everything of a person on one connection. Their opt-out and the dedupe keys stay."""
    turns: dict[int, set[str]] = {}
    messages: list[str] = []
    db.lock_lines(_ALL_LINES, (connection_id,))
    for seq, line, turn_id, data in db.execute(_THEIRS, (connection_id, _ID.dump_json(person))).fetchall():
        message = InboundMessage.from_json(data)
        if message.sender.id != person:
            continue
        messages.append(message.id)
        db.execute(_BLANK_MESSAGE, (_blank(message).to_json(), seq))
        turns.setdefault(line, set()).add(turn_id or "")
    private: list[Conversation] = []
    for line, own in turns.items():
        connection, chat, thread, scope = db.execute(_WHERE, (line,)).fetchone()
        is_private = scope == "dm"
        db.execute(_SESSIONS, (line,))
        for turn_id in own - {""}:
            db.execute(_RUN, (line, turn_id))
            db.execute(_JOURNAL, (turn_id,))
            db.execute(_ERRORS, (turn_id,))
        for seq, turn_id, call in db.execute(_SAID, (line,)).fetchall():
            if is_private or turn_id in own:
                db.execute(_BLANK_DELIVERY, (Call(Call.from_json(call).method, {}).to_json(), seq))
        if is_private:
            private.append(Conversation(connection, chat, thread))
            db.execute(_ALL_RUNS, (line,))
            gone = Conversation(connection, f"{NOBODY}-{ULID()}")
            db.execute(_RENAME, (gone.key, gone.chat_id, NOBODY, line))
        refresh_turns(db, line)
        refresh_deliveries(db, line)
    db.execute(_PAIRINGS, (connection_id, person))
    db.execute(_ARRIVALS, (connection_id, person))
    return Erased(tuple(messages), tuple(private))


def _blank(message: InboundMessage) -> InboundMessage:
    return replace(
        message,
        conversation=Conversation(message.conversation.connection_id, NOBODY),  # the row says where it is
        dedupe_keys=(),
        sender=Sender(NOBODY),
        text="",
        command=None,
        reply_to=None,
        message_ref="",
        group_id=None,
        attachments=(),
        action=None,
        data={},
        raw={},
    )
