"""A Twilio webhook as messages, for WhatsApp and SMS alike. Unknown fields are fine; they stay in `raw`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from channels.errors import PayloadError
from channels.message import (
    Action,
    Attachment,
    AttachmentKind,
    Conversation,
    InboundMessage,
    Kind,
    Sender,
    StatusUpdate,
    message_id,
)
from channels.twilio.numbers import bare

MAX_MEDIA = 10
"""Twilio sends at most ten media items with a message."""

STATES = {
    "accepted": "queued",
    "scheduled": "queued",
    "queued": "queued",
    "sending": "queued",
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "undelivered": "failed",
    "failed": "failed",
    "canceled": "failed",
}
"""Twilio's MessageStatus → a delivery's state."""

STOP = frozenset({"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"})
START = frozenset({"START", "UNSTOP", "YES"})
HELP = frozenset({"HELP", "INFO"})

OptOut = Literal["stop", "start", "help"]


def normalise(
    payload: Mapping[str, JsonValue],
    *,
    channel: Literal["whatsapp", "sms"],
    connection_id: str,
    identity: Callable[[str], str],
    received_at: datetime,
) -> list[InboundMessage]:
    """The message or the status in one webhook. `identity` gives one name to a person with two addresses.

    Raises PayloadError where a message has no MessageSid or no From.
    """
    fields = {key: _text(value) for key, value in payload.items()}
    sid = fields.get("MessageSid") or fields.get("SmsSid") or fields.get("SmsMessageSid") or ""
    if not sid:
        raise PayloadError("A message without MessageSid.")
    state = fields.get("MessageStatus") or fields.get("SmsStatus") or "received"
    if state not in {"received", "receiving"}:
        return [_status(fields, sid, state, channel, connection_id, received_at, payload)]
    address = fields.get("From", "").strip()
    if not bare(address):
        raise PayloadError("A message without From.")
    person = identity(address)
    key = f"message:{sid}"
    opt = _opt_out(fields) if channel == "sms" else None
    action = _action(fields)
    kind: Kind = "membership" if opt else "action" if action else "message"
    return [
        InboundMessage(
            id=message_id(connection_id, key, received_at),
            connection_id=connection_id,
            channel=channel,
            kind=kind,
            dedupe_keys=(key,),
            conversation=Conversation(connection_id, person),
            scope="dm",
            sender=Sender(id=person, name=fields.get("ProfileName", ""), handle=bare(address)),
            text=_body(fields),
            mentions_bot=True,
            reply_to=fields.get("OriginalRepliedMessageSid") or None,
            message_ref=f"{sid} {address}",
            attachments=_media(fields),
            action=action,
            received_at=received_at,
            data=_data(fields, opt),
            raw=dict(payload),
        )
    ]


def reply_address(message_ref: str | None) -> str | None:
    """The address a message came from, out of its `message_ref`."""
    _, _, address = (message_ref or "").partition(" ")
    return address or None


def _status(
    fields: Mapping[str, str],
    sid: str,
    state: str,
    channel: str,
    connection_id: str,
    received_at: datetime,
    payload: Mapping[str, JsonValue],
) -> InboundMessage:
    person = bare(fields.get("To", "")) or "unknown"
    key = f"status:{sid}:{state}"
    return InboundMessage(
        id=message_id(connection_id, key, received_at),
        connection_id=connection_id,
        channel=channel,
        kind="status",
        dedupe_keys=(key,),
        conversation=Conversation(connection_id, person),
        scope="dm",
        sender=Sender(id=person),
        status=StatusUpdate(
            subject="delivery",
            state=STATES.get(state, "queued"),
            provider_ref=sid,
            code=fields.get("ErrorCode", ""),
            detail=fields.get("ErrorMessage") or fields.get("ChannelStatusMessage", ""),
        ),
        received_at=received_at,
        raw=dict(payload),
    )


def _opt_out(fields: Mapping[str, str]) -> OptOut | None:
    """What Twilio answers itself: by its own word (OptOutType), or by the message being one of the words alone."""
    word = (fields.get("OptOutType") or fields.get("Body", "")).strip().upper()
    if word in STOP:
        return "stop"
    if word in START:
        return "start"
    return "help" if word in HELP else None


def _action(fields: Mapping[str, str]) -> Action | None:
    if fields.get("ButtonPayload") or fields.get("ButtonText"):
        return Action(id=fields.get("ButtonPayload") or fields["ButtonText"], value=fields.get("ButtonText", ""))
    if fields.get("ListId"):
        return Action(id=fields["ListId"], value=fields.get("ListTitle", ""))
    return None


def _body(fields: Mapping[str, str]) -> str:
    text = fields.get("Body", "").strip()
    text = text or fields.get("ButtonText", "") or fields.get("ListTitle", "")
    if fields.get("Latitude") and fields.get("Longitude"):
        named = ", ".join(part for part in (fields.get("Label", ""), fields.get("Address", "")) if part)
        place = f"Location: {fields['Latitude']}, {fields['Longitude']}" + (f" ({named})" if named else "")
        text = f"{text}\n{place}".strip()
    return text


def _media(fields: Mapping[str, str]) -> tuple[Attachment, ...]:
    found: list[Attachment] = []
    for number in range(MAX_MEDIA):
        url = fields.get(f"MediaUrl{number}", "")
        if url:
            media_type = fields.get(f"MediaContentType{number}", "").lower()
            found.append(Attachment(kind=_kind(media_type), provider_ref=url, media_type=media_type))
    return tuple(found)


def _kind(media_type: str) -> AttachmentKind:
    match media_type.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "voice" if "ogg" in media_type else "audio"
        case "video":
            return "video"
        case "application" | "text":
            return "document"
        case _:
            return "other"


def _data(fields: Mapping[str, str], opt: OptOut | None) -> dict[str, JsonValue]:
    data: dict[str, JsonValue] = {}
    if opt:
        data["opt_out"] = opt
    if fields.get("Latitude") and fields.get("Longitude"):
        names = (("latitude", "Latitude"), ("longitude", "Longitude"), ("address", "Address"), ("label", "Label"))
        data["location"] = {ours: fields.get(theirs, "") for ours, theirs in names}
    referral: dict[str, JsonValue] = {k: v for k, v in fields.items() if k.startswith("Referral") and v}
    if referral:
        data["referral"] = referral
    if fields.get("WaId"):
        data["wa_id"] = fields["WaId"]
    return data


def _text(value: JsonValue) -> str:
    """A field as text; NUL would be refused by databases and terminals alike."""
    return "" if value is None else str(value).replace("\0", "")
