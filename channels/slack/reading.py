"""What reading any payload needs: its context, its outcome, and the frame of a message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from channels.message import ChatKind, Conversation, InboundMessage, Sender, message_id
from channels.slack.account import Account, Json

_TS = re.compile(r"\d{1,12}\.\d{1,9}")

SLACKBOT = "USLACKBOT"


@dataclass(frozen=True, slots=True)
class Ignored:
    """A payload that no agent could use, and the name of the reason."""

    reason: str


Reading = list[InboundMessage] | Ignored


@dataclass(frozen=True, slots=True)
class Context:
    """What stays the same while one payload is read."""

    account: Account
    connection_id: str
    received_at: datetime
    raw: dict[str, JsonValue]


def inbound(
    context: Context,
    *,
    dedupe_keys: tuple[str, ...],
    channel: str,
    thread: str | None = None,
    title: str = "",
    data: dict[str, JsonValue] | None = None,
    **fields: Any,
) -> InboundMessage:
    """A message of this connection. `title` is the channel's name where the payload has it."""
    return InboundMessage(
        id=message_id(context.connection_id, dedupe_keys[0], context.received_at),
        connection_id=context.connection_id,
        channel="slack",
        dedupe_keys=dedupe_keys,
        conversation=Conversation(context.connection_id, channel, thread),
        received_at=context.received_at,
        data={**(data or {}), **({"chat_title": title} if title else {})},
        raw=context.raw,
        **fields,
    )


def sender(context: Context, message: Json) -> Sender:
    """Whoever posted. An app's post carries a `bot_id`, also where it speaks for a user."""
    user, bot = str(message.get("user") or ""), str(message.get("bot_id") or "")
    account = context.account
    is_self = user == account.user_id or (bot != "" and bot == account.bot_id)
    profile = message.get("user_profile") or message.get("bot_profile") or {}
    name = message.get("username") or profile.get("real_name") or profile.get("name")
    is_bot = bot != "" or user == SLACKBOT or message.get("subtype") == "bot_message"
    return Sender(
        id=user or bot or "unknown",
        name=str(name or ""),
        handle=str(profile.get("display_name") or ""),
        is_bot=is_bot and not is_self,
        is_self=is_self,
    )


def scope_of(channel: str, channel_type: Any = None) -> ChatKind:
    """Where a message was said: alone with the bot, or among several. An app_mention has no `channel_type`."""
    return "dm" if channel_type in ("im", "app_home") or channel.startswith("D") else "group"


def thread_of(scope: ChatKind, ts: str, thread_ts: Any) -> str | None:
    """The thread that a message is in or opens: in a channel each does, alone with the bot only a reply is in one."""
    if isinstance(thread_ts, str) and thread_ts and (scope != "dm" or thread_ts != ts):
        return timestamp(thread_ts)
    return None if scope == "dm" else ts


def identifier(value: Any) -> str:
    """A non-empty string, or ValueError."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not an id")
    return value


def timestamp(value: Any) -> str:
    """A `ts`, which is a message's id in its channel, or ValueError."""
    if not isinstance(value, str) or not _TS.fullmatch(value):
        raise ValueError(f"{value!r} is not a timestamp")
    return value


def moment(ts: Any) -> datetime | None:
    """When that was, where it can be told."""
    try:
        seconds = float(ts)
        return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < 253402300800 else None
    except (TypeError, ValueError):
        return None
