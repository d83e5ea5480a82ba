"""A note as the loft posts it → a message. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, JsonValue, ValidationError

from channels.errors import PayloadError
from channels.message import Conversation, InboundMessage, Sender, message_id


class Note(BaseModel):
    """What the loft documents; more may come."""

    note_id: str
    sender: str
    text: str


def normalise(payload: Mapping[str, JsonValue], connection_id: str, received_at: datetime) -> list[InboundMessage]:
    """The note in a webhook. Raises PayloadError."""
    try:
        note = Note.model_validate(payload)
    except ValidationError as error:
        raise PayloadError("That is not a note.") from error
    return [
        InboundMessage(
            id=message_id(connection_id, note.note_id, received_at),
            connection_id=connection_id,
            channel="pigeon",
            kind="message",
            dedupe_keys=(note.note_id,),
            conversation=Conversation(connection_id, note.sender),
            scope="dm",
            sender=Sender(id=note.sender, name=note.sender),
            text=note.text,
            message_ref=note.note_id,
            received_at=received_at,
            raw=dict(payload),
        )
    ]
