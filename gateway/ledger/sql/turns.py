"""Turns: leased one at a time per conversation, fenced by owner and epoch, ended in one transaction."""

from __future__ import annotations

from collections.abc import Iterator

from ulid import ULID

from channels.message import Conversation, InboundMessage
from gateway.ledger.errors import LeaseLost
from gateway.ledger.records import Claims, Finish, Turn
from gateway.ledger.sql.codec import read_conversation, read_message
from gateway.ledger.sql.database import Database, Row
from gateway.ledger.sql.deliveries import queue
from gateway.ledger.sql.inbox import MENTION_REQUIRED
from gateway.ledger.sql.lines import lock_line_of_turn, refresh_turns
from gateway.ledger.sql.sessions import keep_run, keep_session

MESSAGES_AT_ONCE = 50
"""How many waiting messages one turn takes at most; the rest are the next turn's."""

_READY = """
SELECT c.id, c.epoch, c.turn_at, c.connection_id, c.chat_id, c.thread_id
FROM conversations c WHERE c.turn_at <= ? ORDER BY c.turn_at, c.epoch LIMIT ?
"""

_FRESH = """
SELECT c.id, c.epoch, c.turn_at, c.connection_id, c.chat_id, c.thread_id
FROM conversations c WHERE c.turn_at <= ? AND c.epoch = 0 ORDER BY c.turn_at DESC LIMIT ?
"""

_NEXT = "SELECT turn_at FROM conversations WHERE turn_at > ? ORDER BY turn_at LIMIT 1"

_OPEN_TURNS = """
SELECT id, state, ready_at, lease_until FROM turns
WHERE conversation = ? AND state IN ('queued', 'running') ORDER BY position
"""

_WAITING = "SELECT seq FROM messages WHERE conversation = ? AND state = 'waiting' ORDER BY seq LIMIT ?"

_TAKE = "UPDATE messages SET state = 'claimed', turn_id = ? WHERE seq = ?"

_CREATE = """
INSERT INTO turns (id, conversation, position, state, attempt, ready_at) VALUES (?, ?, ?, 'queued', 0, ?)
"""

_LEASE = """
UPDATE turns SET state = 'running', attempt = attempt + 1, owner = ?, epoch = ?, lease_until = ?
WHERE id = ? RETURNING attempt
"""

_GROW_EPOCH = "UPDATE conversations SET epoch = ? WHERE id = ?"

_TAKEN = "SELECT seq, id, mentions, data FROM messages WHERE turn_id = ? AND state = 'claimed' ORDER BY seq"

_FENCE = "SELECT conversation FROM turns WHERE id = ? AND state = 'running' AND owner = ? AND epoch = ?"

_RENEW = "UPDATE turns SET lease_until = ? WHERE id = ?"

_REQUEUE = "UPDATE turns SET state = 'queued', ready_at = ?, error = ? WHERE id = ?"

_RELEASE = "UPDATE turns SET state = 'queued', ready_at = ?, attempt = attempt - 1 WHERE id = ?"

_END_MESSAGE = "UPDATE messages SET state = ?, reason = ? WHERE seq = ?"

_PUT_BACK = "UPDATE messages SET state = 'waiting', turn_id = NULL WHERE seq = ?"

_END_TURN = "UPDATE turns SET state = ?, error = ?, ended_at = ? WHERE id = ?"

_SERVED = "UPDATE conversations SET served_at = ? WHERE id = ?"

_JOURNAL = "SELECT result FROM journal WHERE turn_id = ? AND key = ?"

_RECORD = "INSERT INTO journal (turn_id, key, result) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

_VOID_LEASES = """
UPDATE turns SET state = 'queued'
WHERE state IN ('queued', 'running') AND state = 'running' AND :owner IN ('', owner) RETURNING conversation
"""

_LINES_HELD = """
SELECT c.id FROM conversations c JOIN turns t ON t.conversation = c.id
WHERE t.state IN ('queued', 'running') AND t.state = 'running' AND :owner IN ('', t.owner)
"""


def claim(db: Database, owner: str, limit: int, lease: float, now: float, fresh: int = 0) -> Claims:
    """Lease the conversations that have waited longest for their turn.

    Where more wait than are asked for, up to `fresh` of them are ones that were never answered, the newest first.
    """
    rows = _ready(db, limit, fresh, now)
    turns = [turn for row in rows if (turn := _lease(db, row, owner, now + lease, now)) is not None]
    later = db.execute(_NEXT, (now,)).fetchone()
    return Claims(tuple(turns), None if later is None else later[0])


def renew(db: Database, turn: Turn, lease_until: float) -> None:
    """Move the end of the lease."""
    line = fenced(db, turn)
    db.execute(_RENEW, (lease_until, turn.id))
    refresh_turns(db, line)


def retry(db: Database, turn: Turn, at: float, error: str) -> None:
    """Queue the turn again, its messages and place kept."""
    line = fenced(db, turn)
    db.execute(_REQUEUE, (at, error, turn.id))
    refresh_turns(db, line)


def release(db: Database, turn: Turn, now: float) -> None:
    """Queue the turn again as if it had not been claimed."""
    try:
        line = fenced(db, turn)
    except LeaseLost:
        return
    db.execute(_RELEASE, (now, turn.id))
    refresh_turns(db, line)


def finish(db: Database, turn: Turn, end: Finish, now: float) -> tuple[float | None, float | None]:
    """End the turn with all that comes of it. When the conversation's next turn and delivery are due, if at all."""
    line = fenced(db, turn)
    heard = {m.id: m.mentions_bot for m in turn.messages}
    ended = 0
    for seq, id_, mentions, _ in db.execute(_TAKEN, (turn.id,)).fetchall():
        reason = end.ignored.get(id_)
        mentioned_since = reason == MENTION_REQUIRED and mentions and not heard.get(id_, True)
        if id_ in end.left or mentioned_since:
            db.execute(_PUT_BACK, (seq,))
        elif reason is not None:
            db.execute(_END_MESSAGE, ("ignored", reason, seq))
        else:
            ended += 1
            db.execute(_END_MESSAGE, (end.outcome, "" if end.outcome == "answered" else end.error, seq))
    state = end.outcome if ended else "ignored"
    db.execute(_END_TURN, (state, end.error, now, turn.id))
    if end.session is not None:
        keep_session(db, line, end.session)
    if end.run is not None:
        keep_run(db, line, end.run)
    due = queue(db, line, end.pieces, now, turn_id=turn.id) if end.pieces else None
    db.execute(_SERVED, (now, line))
    return refresh_turns(db, line), due


def journal(db: Database, turn: Turn, key: str) -> str | None:
    """What was recorded under a key."""
    row = db.execute(_JOURNAL, (turn.id, key)).fetchone()
    return None if row is None else row[0]


def record(db: Database, turn: Turn, key: str, result: str) -> None:
    """Record a result; the first one stands."""
    fenced(db, turn)
    db.execute(_RECORD, (turn.id, key, result))


def void_leases(db: Database, owner: str = "") -> None:
    """Give back the running turns of a dead worker, or of all."""
    db.lock_lines(_LINES_HELD, {"owner": owner})
    for (line,) in db.execute(_VOID_LEASES, {"owner": owner}).fetchall():
        refresh_turns(db, line)


def _ready(db: Database, limit: int, fresh: int, now: float) -> list[Row]:
    def lines(sql: str, most: int) -> list[Row]:
        return db.execute(sql + db.skip_locked, (now, most)).fetchall()

    longest = lines(_READY, limit - fresh)
    if not fresh or len(longest) < limit - fresh:
        return longest
    known = {row[0] for row in longest}
    newest = [row for row in lines(_FRESH, fresh) if row[0] not in known]
    if len(newest) == fresh:
        return longest + newest
    known = {row[0] for row in newest}
    return [row for row in lines(_READY, limit) if row[0] not in known][: limit - len(newest)] + newest


def fenced(db: Database, turn: Turn) -> int:
    """The line of a turn that is still this worker's. It is where the chat is now, if it moved. Raises LeaseLost."""
    lock_line_of_turn(db, turn.id)
    row = db.execute(_FENCE, (turn.id, turn.owner, turn.epoch)).fetchone()
    if row is None:
        raise LeaseLost(
            f"Turn {turn.id} is no longer this worker's.", fix="Nothing to do: whoever took it over answers."
        )
    line: int = row[0]
    return line


def _lease(db: Database, row: Row, owner: str, lease_until: float, now: float) -> Turn | None:
    line, epoch, turn_at = row[0], row[1] + 1, row[2]
    turn_id = _next_turn(db, line, turn_at, now)
    if turn_id is None:
        refresh_turns(db, line)
        return None
    attempt = db.execute(_LEASE, (owner, epoch, lease_until, turn_id)).fetchone()[0]
    db.execute(_GROW_EPOCH, (epoch, line))
    refresh_turns(db, line)
    conversation = read_conversation(row[3:6])
    return Turn(
        id=turn_id,
        conversation=conversation,
        messages=tuple(_messages(db, turn_id, conversation)),
        attempt=attempt,
        owner=owner,
        epoch=epoch,
        lease_until=lease_until,
    )


def _next_turn(db: Database, line: int, turn_at: float, now: float) -> str | None:
    """The first turn of a line whose lease is nobody's, or a new one of what waits. None while one runs.

    Two turns run in one line only when two chats became one meanwhile: both have to end first.
    """
    opened = db.execute(_OPEN_TURNS, (line,)).fetchall()
    if any(state == "running" and lease_until > now for _, state, _, lease_until in opened):
        return None
    for turn_id, state, ready_at, _ in opened:
        return turn_id if state == "running" or ready_at <= now else None
    waiting = db.execute(_WAITING, (line, MESSAGES_AT_ONCE)).fetchall()
    if not waiting:
        return None
    turn_id = str(ULID())
    db.execute(_CREATE, (turn_id, line, waiting[0][0], turn_at))
    db.executemany(_TAKE, [(turn_id, seq) for (seq,) in waiting])
    return turn_id


def _messages(db: Database, turn_id: str, conversation: Conversation) -> Iterator[InboundMessage]:
    for _, _, _, data in db.execute(_TAKEN, (turn_id,)):
        yield read_message(data, conversation)
