"""Messages come in: once each, in order, with every dedupe key remembered for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from channels.message import InboundMessage
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.lines import arrived, lock_lines_of, refresh_turns

Accepted = Literal["new", "duplicate"]

MENTION_REQUIRED = "mention_required"
"""The reason under which a message that did not mention the bot was ignored; its mentioning twin still counts."""

_SEE = "INSERT INTO seen (connection_id, key, message_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

_SEE_ANEW = """
INSERT INTO seen (connection_id, key, message_id) VALUES (?, ?, ?)
ON CONFLICT (connection_id, key) DO UPDATE SET message_id = excluded.message_id
"""

_TWIN = """
SELECT m.seq, m.id, m.state, m.reason, m.mentions, m.data
FROM seen s JOIN messages m ON m.id = s.message_id
WHERE s.connection_id = ? AND s.key = ?
"""

_LINE_OF_TWIN = """
SELECT c.id FROM seen s JOIN messages m ON m.id = s.message_id JOIN conversations c ON c.id = m.conversation
WHERE s.connection_id = ? AND s.key = ?
"""

_INSERT = """
INSERT INTO messages (id, conversation, state, mentions, accepted_at, data) VALUES (?, ?, 'waiting', ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET state = 'waiting', reason = '', turn_id = NULL, mentions = excluded.mentions,
    data = excluded.data
"""

_EXISTS = "SELECT 1 FROM messages WHERE id = ?"

_UPGRADE = "UPDATE messages SET mentions = 1, data = ? WHERE seq = ?"

_ARRIVED = """
INSERT INTO arrivals (connection_id, sender_id, at) VALUES (?, ?, ?)
ON CONFLICT (connection_id, sender_id) DO UPDATE SET at = excluded.at
"""

_OPT_OUT = "INSERT INTO opt_outs (connection_id, person, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

_OPT_IN = "DELETE FROM opt_outs WHERE connection_id = ? AND person = ?"

_OPTED_OUT = "SELECT 1 FROM opt_outs WHERE connection_id = ? AND person = ?"

_LAST_ARRIVAL = "SELECT at FROM arrivals WHERE connection_id = ? AND sender_id = ?"


def accept(db: Database, messages: Sequence[InboundMessage], hold: float, now: float) -> list[Accepted]:
    """Store what was not seen before.

    Everyone takes keys, then lines, then arrivals, each in their own order: two gateways that are given the same batch
    wait for each other and never in a circle.
    """
    known = _see(db, messages)
    lock_lines_of(db, [message.conversation for message in messages])
    taken = [_accept(db, message, keys, hold, now) for message, keys in zip(messages, known, strict=True)]
    new = [message for message, how in zip(messages, taken, strict=True) if how == "new"]
    for sender in sorted({(m.connection_id, sender) for m in new for sender in ("", m.sender.id)}):
        db.execute(_ARRIVED, (*sender, now))
    return taken


def last_inbound(db: Database, connection_id: str, sender_id: str | None) -> float | None:
    """When a sender, or anyone, last wrote on a connection."""
    row = db.execute(_LAST_ARRIVAL, (connection_id, sender_id or "")).fetchone()
    return None if row is None else row[0]


def set_opted_out(db: Database, connection_id: str, person: str, out: bool, now: float) -> None:
    """Remember a STOP, or forget it."""
    if out:
        db.execute(_OPT_OUT, (connection_id, person, now))
    else:
        db.execute(_OPT_IN, (connection_id, person))


def opted_out(db: Database, connection_id: str, person: str) -> bool:
    """Whether a STOP stands."""
    return db.execute(_OPTED_OUT, (connection_id, person)).fetchone() is not None


def _see(db: Database, messages: Sequence[InboundMessage]) -> list[list[str]]:
    """Write down every dedupe key; for each message those that another one had brought before."""
    first: dict[tuple[str, str], InboundMessage] = {}
    for message in messages:
        for key in message.dedupe_keys:
            first.setdefault((message.connection_id, key), message)
    new = {place for place in sorted(first) if db.execute(_SEE, (*place, first[place].id)).rowcount}
    return [
        [
            key
            for key in dict.fromkeys(message.dedupe_keys)
            if (place := (message.connection_id, key)) not in new or first[place] is not message
        ]
        for message in messages
    ]


def _accept(db: Database, message: InboundMessage, known: list[str], hold: float, now: float) -> Accepted:
    if known:
        return _seen_before(db, message, known, hold, now)
    if db.execute(_EXISTS, (message.id,)).fetchone():
        return "duplicate"
    _store(db, message, hold, now)
    return "new"


def _seen_before(db: Database, message: InboundMessage, known: list[str], hold: float, now: float) -> Accepted:
    for key in known:
        db.lock_lines(_LINE_OF_TWIN, (message.connection_id, key))
    rows = [row for key in known if (row := db.execute(_TWIN, (message.connection_id, key)).fetchone())]
    if not rows:
        return "duplicate"  # the keys outlived their message
    seq, twin_id, state, reason, mentions, data = max(rows)
    if message.mentions_bot and not mentions:
        if state == "ignored" and reason == MENTION_REQUIRED:
            _remember(db, message, message.id)
            _store(db, message, hold, now)
            return "new"
        if state in ("waiting", "claimed"):
            upgraded = replace(InboundMessage.from_json(data), mentions_bot=True)
            db.execute(_UPGRADE, (upgraded.to_json(), seq))
    _remember(db, message, twin_id)
    return "duplicate"


def _remember(db: Database, message: InboundMessage, message_id: str) -> None:
    db.executemany(_SEE_ANEW, [(message.connection_id, key, message_id) for key in message.dedupe_keys])


def _store(db: Database, message: InboundMessage, hold: float, now: float) -> None:
    line, expected = arrived(db, message, hold, now)
    db.execute(_INSERT, (message.id, line, message.mentions_bot, now, message.to_json()))
    if hold > 0 or not expected:
        refresh_turns(db, line)
