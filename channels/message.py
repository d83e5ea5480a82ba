"""What a message is, the same for every channel. Frozen, versioned, and JSON both ways."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import JsonValue, TypeAdapter
from ulid import ULID

VERSION = 1

Kind = Literal["message", "edit", "command", "action", "reaction", "membership", "status"]
ChatKind = Literal["dm", "group", "channel"]
Purpose = Literal["reply", "notice", "draft", "typing", "ack"]
AttachmentKind = Literal["image", "audio", "voice", "video", "document", "sticker", "animation", "other"]
DeliveryState = Literal["queued", "sent", "delivered", "read", "failed"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One ordered stream. `thread_id` is a Telegram forum topic, a Slack thread, or None."""

    connection_id: str
    chat_id: str
    thread_id: str | None = None

    @property
    def key(self) -> str:
        """The conversation as one string, for a column or a dictionary. Unique, and readable in a log."""
        thread = "" if self.thread_id is None else f"/{self.thread_id}"
        return f"{self.connection_id}/{self.chat_id}{thread}"


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote. `id` is the provider's; `is_self` marks the bot's own posts coming back."""

    id: str
    name: str = ""
    handle: str = ""
    is_bot: bool = False
    is_self: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command without its slash and without the bot's name: `/start@shop_bot a b` is ("start", "a b")."""

    name: str
    args: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message, or goes out with one. `size` in bytes if known.

    `path` is, once fetched, the agent's own path to a received file, and for one that goes out the real file.
    """

    kind: AttachmentKind
    provider_ref: str = ""
    media_type: str = ""
    size: int | None = None
    name: str = ""
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """A pressed button: the id it was made with, its value, and the provider's handle to acknowledge it."""

    id: str
    value: str = ""
    ack_ref: str = ""
    message_ref: str = ""


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """What a provider reports later. `subject` is a delivery (by `provider_ref`) or the whole connection."""

    subject: Literal["delivery", "connection"]
    state: str
    provider_ref: str = ""
    code: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One event from a channel.

    `dedupe_keys`: the event is a duplicate when any of these was seen on its connection before; all are remembered.
    `group_id`: the provider's id for items that belong together (a Telegram album); they are gathered into one turn.
    `data`: what has no field of its own (location, contact, `moved_to` for a migrated chat, `deleted` for an edit that
    took the message away), plain JSON.
    `raw`: the provider's payload, kept for replay and explain.
    """

    id: str
    connection_id: str
    channel: str
    kind: Kind
    dedupe_keys: tuple[str, ...]
    conversation: Conversation
    scope: ChatKind
    sender: Sender
    text: str = ""
    command: Command | None = None
    mentions_bot: bool = False
    reply_to: str | None = None
    message_ref: str = ""
    group_id: str | None = None
    attachments: tuple[Attachment, ...] = ()
    action: Action | None = None
    status: StatusUpdate | None = None
    sent_at: datetime | None = None
    received_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    data: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    raw: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    version: int = VERSION

    def to_json(self) -> bytes:
        """The message as JSON, as the ledger stores it."""
        return _INBOUND.dump_json(self)

    @staticmethod
    def from_json(data: bytes | str) -> InboundMessage:
        """Read what `to_json` wrote. Raises pydantic's ValidationError on anything else."""
        return _INBOUND.validate_json(data)


@dataclass(frozen=True, slots=True)
class Button:
    """A button under a reply. Pressed, it comes back as an `Action` with its id and value; a `url` opens instead."""

    id: str
    label: str
    value: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """What an agent or the platform says. `text` is Markdown, always; each channel renders it.

    `purpose` "typing" and "ack" carry no text: they render to the channel's typing indicator and to the
    acknowledgement of a pressed button (`action`). They are sent at once and not kept in the ledger.
    """

    conversation: Conversation
    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()
    reply_to: str | None = None
    purpose: Purpose = "reply"
    scope: ChatKind = "dm"
    action: Action | None = None


_INBOUND = TypeAdapter(InboundMessage)


def message_id(connection_id: str, dedupe_key: str, received_at: datetime) -> str:
    """A ULID that sorts by arrival and is the same whenever the same event is normalised at the same instant.

    The random part is a digest of the connection and the key, so that `normalise` stays a pure function.
    """
    stamp = int(received_at.timestamp() * 1000).to_bytes(6, "big")
    digest = hashlib.sha256(f"{connection_id}\0{dedupe_key}".encode()).digest()[:10]
    return str(ULID(stamp + digest))


def gather(messages: tuple[InboundMessage, ...]) -> InboundMessage:
    """One message out of items with the same `group_id`: the first, with every text, mention and attachment of all."""
    first = messages[0]
    if len(messages) == 1:
        return first
    return replace(
        first,
        text="\n".join(m.text for m in messages if m.text),
        command=next((m.command for m in messages if m.command), None),
        mentions_bot=any(m.mentions_bot for m in messages),
        attachments=tuple(a for m in messages for a in m.attachments),
    )
