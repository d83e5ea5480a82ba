"""Rows to values: what more than one query module reads."""

from __future__ import annotations

import json
from dataclasses import replace

from channels.adapter import Call
from channels.message import Conversation, InboundMessage
from gateway.ledger.records import Delivery, RunRecord, StoredMessage
from gateway.ledger.sql.database import Row

CONVERSATION = "c.connection_id, c.chat_id, c.thread_id"
"""The columns `read_conversation` takes, of `conversations AS c`."""

MESSAGE = "m.data, m.state, m.reason, coalesce(m.turn_id, '')"
DELIVERY = "d.id, d.turn_id, d.call, d.purpose, d.status, d.attempt, d.ambiguous, d.created_at, d.provider_ref, d.error"
RUN = (
    "r.id, r.turn_id, r.agent_id, r.route_id, r.model, r.outcome, r.steps, r.input_tokens, r.output_tokens,"
    " r.started_at, r.finished_at, r.detail"
)


def read_conversation(row: Row) -> Conversation:
    """A conversation from its three columns."""
    return Conversation(row[0], row[1], row[2])


def read_message(data: bytes, conversation: Conversation) -> InboundMessage:
    """A stored message, in the conversation it is in now: its chat may have moved since."""
    message = InboundMessage.from_json(data)
    return message if message.conversation == conversation else replace(message, conversation=conversation)


def read_stored(row: Row, conversation: Conversation) -> StoredMessage:
    """A row of MESSAGE columns."""
    data, state, reason, turn_id = row
    return StoredMessage(read_message(data, conversation), state, reason, turn_id)


def read_delivery(row: Row, conversation: Conversation) -> Delivery:
    """A row of DELIVERY columns."""
    id_, turn_id, call, purpose, status, attempt, ambiguous, created_at, provider_ref, error = row
    return Delivery(
        id=id_,
        turn_id=turn_id,
        conversation=conversation,
        call=Call.from_json(call),
        purpose=purpose,
        status=status,
        attempt=attempt,
        ambiguous=bool(ambiguous),
        created_at=created_at,
        provider_ref=provider_ref,
        error=error,
    )


def read_run(row: Row, conversation: Conversation) -> RunRecord:
    """A row of RUN columns."""
    id_, turn_id, *middle, detail = row
    agent_id, route_id, model, outcome, steps, input_tokens, output_tokens, started_at, finished_at = middle
    return RunRecord(
        id=id_,
        turn_id=turn_id,
        conversation=conversation,
        agent_id=agent_id,
        route_id=route_id,
        model=model,
        outcome=outcome,
        steps=steps,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        started_at=started_at,
        finished_at=finished_at,
        detail=json.loads(detail),
    )
