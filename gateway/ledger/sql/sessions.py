"""Sessions and runs: what a model still sees of a conversation, and what happened in each turn."""

from __future__ import annotations

import json

from channels.message import Conversation
from gateway.ledger.records import RunRecord, Session
from gateway.ledger.sql.codec import RUN, read_conversation, read_run
from gateway.ledger.sql.database import Database

_KEEP_SESSION = """
INSERT INTO sessions (id, conversation, agent_id, history, started_at, last_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    conversation = excluded.conversation, history = excluded.history, last_at = excluded.last_at
"""

_SESSION = """
SELECT s.id, s.agent_id, s.history, s.started_at, s.last_at
FROM conversations c JOIN sessions s ON s.conversation = c.id
WHERE c.key = ? AND s.agent_id = ? ORDER BY s.last_at DESC LIMIT 1
"""

_KEEP_RUN = """
INSERT INTO runs (id, conversation, turn_id, agent_id, route_id, model, outcome, steps, input_tokens, output_tokens,
                  started_at, finished_at, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_RUNS = f"""
SELECT c.connection_id, c.chat_id, c.thread_id, {RUN}
FROM conversations c JOIN runs r ON r.conversation = c.id
WHERE c.key = ? ORDER BY r.seq DESC LIMIT ?
"""  # noqa: S608 - column names


def keep_session(db: Database, line: int, session: Session) -> None:
    """Insert or replace a session."""
    s = session
    db.execute(_KEEP_SESSION, (s.id, line, s.agent_id, s.history, s.started_at, s.last_at))


def newest_session(db: Database, conversation: Conversation, agent_id: str) -> Session | None:
    """The session that an agent used last in a conversation."""
    row = db.execute(_SESSION, (conversation.key, agent_id)).fetchone()
    if row is None:
        return None
    id_, agent, history, started_at, last_at = row
    return Session(id_, conversation, agent, history, started_at, last_at)


def keep_run(db: Database, line: int, run: RunRecord) -> None:
    """Write a run down."""
    db.execute(
        _KEEP_RUN,
        (
            run.id,
            line,
            run.turn_id,
            run.agent_id,
            run.route_id,
            run.model,
            run.outcome,
            run.steps,
            run.input_tokens,
            run.output_tokens,
            run.started_at,
            run.finished_at,
            json.dumps(run.detail, ensure_ascii=False),
        ),
    )


def runs(db: Database, conversation_key: str, limit: int) -> list[RunRecord]:
    """The newest runs of a conversation, oldest first."""
    rows = db.execute(_RUNS, (conversation_key, limit)).fetchall()
    return [read_run(row[3:], read_conversation(row)) for row in reversed(rows)]
