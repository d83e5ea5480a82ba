"""A Telegram update as messages. Pure, straight from the Bot API's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_json

from channels.errors import PayloadError
from channels.message import (
    Action,
    ChatKind,
    Conversation,
    InboundMessage,
    Kind,
    Sender,
    message_id,
)
from channels.telegram.content import attachments, data_of, event_of, text_of
from channels.telegram.entities import command_of, mentions

ALLOWED_UPDATES = (
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "message_reaction",
    "my_chat_member",
    "chat_member",
)
"""Always sent: the choice sticks between calls, and the last two but one are off unless named."""

GROUPS = {"group", "supergroup"}

Json = Mapping[str, Any]
"""A piece of an update as it came: what is read from it is checked where it is read."""


@dataclass(frozen=True, slots=True)
class Account:
    """The bot itself, as getMe tells it. `username` is without the @."""

    id: int
    username: str


@dataclass(frozen=True, slots=True)
class _Context:
    account: Account
    connection_id: str
    received_at: datetime
    update_id: int
    raw: dict[str, JsonValue]


def normalise(
    update: Mapping[str, JsonValue], *, account: Account, connection_id: str, received_at: datetime
) -> list[InboundMessage]:
    """The message in an update; none for a kind that no agent could use. Raises PayloadError on a malformed one."""
    update_id = update.get("update_id")
    if not isinstance(update_id, int) or isinstance(update_id, bool):
        raise PayloadError("An update without update_id.")
    context = _Context(account, connection_id, received_at, update_id, dict(update))
    for kind, content in update.items():
        if kind not in ALLOWED_UPDATES:
            continue
        try:
            to_json(update)  # half a surrogate pair could never be stored, and would block what comes after it
            return [_of_kind(kind, content, context)]
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise PayloadError(f"A {kind} that is not as documented ({type(error).__name__}: {error}).") from error
    return []


def _of_kind(kind: str, content: Any, context: _Context) -> InboundMessage:
    match kind:
        case "callback_query":
            return _callback(content, context)
        case "message_reaction":
            return _reaction(content, context)
        case "my_chat_member" | "chat_member":
            return _member(kind, content, context)
        case _:
            return _message(content, context, edited=kind.startswith("edited_"))


def _message(message: Json, context: _Context, *, edited: bool) -> InboundMessage:
    chat, number = message["chat"], int(message["message_id"])
    text, entities = text_of(message)
    command, for_another = command_of(text, entities, context.account.username)
    place = f"{_id(chat)}:{number}"
    keys = [f"update:{context.update_id}"]
    keys.append(f"edit:{place}:{message.get('edit_date', context.update_id)}" if edited else f"message:{place}")
    kind: Kind = "edit" if edited else "command" if command else "message"
    event = event_of(message)
    if event:
        kind = "membership"
    reply = _reply(message)
    return _inbound(
        context,
        kind=kind,
        dedupe_keys=tuple(keys),
        chat=chat,
        message=message,
        sender=_sender(message, context.account),
        text=text,
        command=command,
        mentions_bot=not for_another
        and (
            command is not None
            or mentions(text, entities, context.account.id, context.account.username)
            or _is_own(reply, context.account)
        ),
        reply_to=None if reply is None else f"{_id(chat)}:{int(reply['message_id'])}",
        message_ref=place,
        group_id=str(message["media_group_id"]) if "media_group_id" in message else None,
        attachments=attachments(message),
        sent_at=_moment(message.get("date")),
        data={**data_of(message), **event},
    )


def _callback(query: Json, context: _Context) -> InboundMessage:
    """A pressed button. A message too old for Telegram to tell comes without one: the chat is then the sender's own."""
    message = query.get("message") or {"chat": {"id": query["from"]["id"], "type": "private"}}
    chat = message["chat"]
    ident, _, value = str(query.get("data", "")).partition("\n")
    ref = f"{_id(chat)}:{message['message_id']}" if "message_id" in message else ""
    action = Action(id=ident, value=value or ident, ack_ref=str(query["id"]), message_ref=ref)
    return _inbound(
        context,
        kind="action",
        dedupe_keys=(f"update:{context.update_id}", f"callback:{query['id']}"),
        chat=chat,
        message=message,
        sender=_person(query["from"], context.account),
        text=action.value,
        mentions_bot=True,
        message_ref=ref,
        action=action,
    )


def _reaction(reaction: Json, context: _Context) -> InboundMessage:
    chat = reaction["chat"]
    emojis = [str(r.get("emoji") or r.get("custom_emoji_id") or r.get("type")) for r in reaction["new_reaction"]]
    place = f"{_id(chat)}:{int(reaction['message_id'])}"
    who = reaction.get("user") or {"id": reaction["actor_chat"]["id"], "first_name": "anonymous"}
    return _inbound(
        context,
        kind="reaction",
        dedupe_keys=(f"update:{context.update_id}",),
        chat=chat,
        message=reaction,
        sender=_person(who, context.account),
        text=" ".join(emojis),
        reply_to=place,
        data={"reactions": list(emojis)},
    )


def _member(kind: str, change: Json, context: _Context) -> InboundMessage:
    member = change["new_chat_member"]
    data: dict[str, JsonValue] = {
        "event": kind,
        "member": str(member["user"]["id"]),
        "was": str(change["old_chat_member"]["status"]),
        "is": str(member["status"]),
    }
    return _inbound(
        context,
        kind="membership",
        dedupe_keys=(f"update:{context.update_id}",),
        chat=change["chat"],
        message=change,
        sender=_person(change["from"], context.account),
        data=data,
    )


def _inbound(context: _Context, *, chat: Json, message: Json, **fields: Any) -> InboundMessage:
    keys: tuple[str, ...] = fields["dedupe_keys"]
    data: dict[str, JsonValue] = fields.pop("data", {})
    title = chat.get("title")
    return InboundMessage(
        id=message_id(context.connection_id, keys[0], context.received_at),
        connection_id=context.connection_id,
        channel="telegram",
        conversation=Conversation(context.connection_id, _id(chat), _topic(message)),
        scope=_scope(chat),
        received_at=context.received_at,
        data={**data, "chat_title": str(title)} if title else data,
        raw=context.raw,
        **fields,
    )


def _sender(message: Json, account: Account) -> Sender:
    """Whoever wrote. Behind an anonymous admin or a channel's post stands a chat, which is nobody's bot."""
    chat = message.get("sender_chat")
    if chat is not None:
        return Sender(id=_id(chat), name=str(chat.get("title", "")), handle=str(chat.get("username", "")))
    if "from" in message:
        return _person(message["from"], account)
    chat = message["chat"]
    return Sender(id=_id(chat), name=str(chat.get("title", "")), handle=str(chat.get("username", "")))


def _person(user: Json, account: Account) -> Sender:
    name = " ".join(part for part in (user.get("first_name"), user.get("last_name")) if part)
    is_self = user["id"] == account.id
    return Sender(
        id=str(int(user["id"])),
        name=name,
        handle=str(user.get("username", "")),
        is_bot=user.get("is_bot") is True and not is_self,
        is_self=is_self,
    )


def _reply(message: Json) -> Json | None:
    """The message replied to. In a topic every message looks like a reply to the topic's first one: that is none."""
    reply: Json | None = message.get("reply_to_message")
    if reply is None or (message.get("is_topic_message") and "forum_topic_created" in reply):
        return None
    if message.get("is_topic_message") and reply.get("message_id") == message.get("message_thread_id"):
        return None
    return reply


def _is_own(reply: Json | None, account: Account) -> bool:
    return reply is not None and isinstance(reply.get("from"), Mapping) and reply["from"].get("id") == account.id


def _topic(message: Json) -> str | None:
    """The forum topic. Without is_topic_message the thread id of a reply can't be sent to."""
    if message.get("is_topic_message") is True and "message_thread_id" in message:
        return str(int(message["message_thread_id"]))
    return None


def _scope(chat: Json) -> ChatKind:
    kind = chat.get("type")
    return "group" if kind in GROUPS else "channel" if kind == "channel" else "dm"


def _id(chat: Json) -> str:
    return str(int(chat["id"]))


def _moment(seconds: Any) -> datetime | None:
    if not isinstance(seconds, int) or not 0 < seconds < 253402300800:
        return None
    return datetime.fromtimestamp(seconds, UTC)
