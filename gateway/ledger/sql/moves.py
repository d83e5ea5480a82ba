"""A chat with a new id: everything of its conversations goes along, and joins what is already there."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from channels.adapter import Call
from channels.message import Conversation
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.lines import refresh_deliveries, refresh_turns

_LINES = "SELECT id, thread_id FROM conversations WHERE connection_id = ? AND chat_id = ?"

_BOTH = "SELECT c.id FROM conversations c WHERE c.connection_id = ? AND c.chat_id IN (?, ?)"

_AT = "SELECT id FROM conversations WHERE key = ?"

_RENAME = "UPDATE conversations SET key = ?, chat_id = ? WHERE id = ?"

_JOIN = """
UPDATE conversations SET
    messages = conversations.messages + old.messages,
    last_at = max(conversations.last_at, old.last_at),
    epoch = max(conversations.epoch, old.epoch),
    hold_until = max(conversations.hold_until, old.hold_until),
    served_at = max(conversations.served_at, old.served_at)
FROM (SELECT * FROM conversations WHERE id = ?) AS old
WHERE conversations.id = ?
"""

_REPOINT = [
    f"UPDATE {table} SET conversation = ? WHERE conversation = ?"  # noqa: S608 - our own tables
    for table in ("messages", "turns", "deliveries", "sessions", "runs")
]

_REMOVE = "DELETE FROM conversations WHERE id = ?"

_OPEN_CALLS = """
SELECT seq, call FROM deliveries WHERE conversation = ? AND status IN ('pending', 'sending') ORDER BY seq
"""

_READDRESS = "UPDATE deliveries SET call = ? WHERE seq = ?"


def move(db: Database, connection_id: str, chat_id: str, new_chat_id: str) -> None:
    """Move every conversation of a chat. Calls not yet carried out that name the old chat name the new one after."""
    db.lock_lines(_BOTH, (connection_id, chat_id, new_chat_id))
    for line, thread_id in db.execute(_LINES, (connection_id, chat_id)).fetchall():
        key = Conversation(connection_id, new_chat_id, thread_id).key
        there = db.execute(_AT, (key,)).fetchone()
        if there is None:
            db.execute(_RENAME, (key, new_chat_id, line))
        else:
            _join(db, line, there[0])
    for line, _ in db.execute(_LINES, (connection_id, new_chat_id)).fetchall():
        for seq, stored in db.execute(_OPEN_CALLS, (line,)).fetchall():
            call = Call.from_json(stored)
            moved = _readdressed(call, chat_id, new_chat_id)
            if moved != call:
                db.execute(_READDRESS, (moved.to_json(), seq))


def _join(db: Database, old: int, new: int) -> None:
    db.execute(_JOIN, (old, new))
    for statement in _REPOINT:
        db.execute(statement, (new, old))
    db.execute(_REMOVE, (old,))
    refresh_turns(db, new)
    refresh_deliveries(db, new)


def _readdressed(call: Call, old: str, new: str) -> Call:
    return replace(
        call,
        chat_id=new if call.chat_id == old else call.chat_id,
        params=_swap(call.params, old, new),
        plain=None if call.plain is None else _swap(call.plain, old, new),
    )


def _swap(params: dict[str, JsonValue], old: str, new: str) -> dict[str, JsonValue]:
    """A chat id may stand among the parameters as text or as a number; the ledger knows no channel's name for it."""

    def swapped(value: JsonValue) -> JsonValue:
        if value == old:
            return new
        if isinstance(value, int) and not isinstance(value, bool) and str(value) == old:
            return int(new)
        return value

    return {name: swapped(value) for name, value in params.items()}
