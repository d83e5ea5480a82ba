"""The methods that post, change and decorate messages."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from channels.rehearsal.journal import seen
from channels.slack.rehearsal.blocks import buttons, checked
from channels.slack.rehearsal.errors import ApiError, missing, required
from channels.slack.rehearsal.events import Events
from channels.slack.rehearsal.method import Method, flag, unpacked
from channels.slack.rehearsal.reading import pings, read
from channels.slack.rehearsal.world import Chat, World

Json = dict[str, Any]

TEXT_MAX, UPDATE_MAX, MARKDOWN_TEXT_MAX, ATTACHMENTS_MAX = 40_000, 4_000, 12_000, 100

STATUS_SECONDS = 120.0

_TS = re.compile(r"^\d{10}\.\d{6}$")
_EMOJI = re.compile(r"^[a-z0-9_+'-]+(?:::skin-tone-[2-6])?$")


Say = Callable[..., Awaitable[None]]
"""`Rehearsal.said`: how a rehearsal is told what the bot said."""


Typing = Callable[[str, float], None]
"""`Journal.typing`: where and for how long the bot is seen at work."""


class Messages:
    """`chat.*`, `reactions.*` and `assistant.threads.setStatus`.

    `per_channel` is the pause in seconds Slack wants between posts in a channel, 0 for none. With `echoes` the app is
    told of its own posts too, as every app is that asked for the events of a channel.
    """

    def __init__(
        self, world: World, events: Events, said: Say, typing: Typing, *, per_channel: float, echoes: bool
    ) -> None:
        self._world = world
        self._events = events
        self._said = said
        self._typing = typing
        self._per_channel = per_channel
        self._echoes = echoes
        self._last: dict[str, float] = {}

    def methods(self) -> dict[str, Method]:
        """By name."""
        return {
            "chat.postMessage": Method(self.post, "chat:write"),
            "chat.update": Method(self.update, "chat:write"),
            "chat.delete": Method(self.delete, "chat:write"),
            "reactions.add": Method(self.react, "reactions:write"),
            "reactions.remove": Method(self.unreact, "reactions:write"),
            "assistant.threads.setStatus": Method(self.status, "chat:write"),
        }

    async def post(self, params: Json) -> Json:
        """chat.postMessage. A thread that isn't known is taken, as Slack takes it."""
        chat = self.writable(params)
        content = _content(params, TEXT_MAX)
        self._pace(chat)
        if params.get("thread_ts"):
            content |= self.thread(params["thread_ts"], broadcast=flag(params.get("reply_broadcast")))
        message = await self.say(chat, content, "chat.postMessage")
        return {"channel": chat.id, "ts": message["ts"], "message": message}

    async def update(self, params: Json) -> Json:
        """chat.update, for the bot's own messages."""
        chat, message = self._found(params)
        self._own(message, "cant_update_message")
        content = _content(params, UPDATE_MAX)
        before = dict(message)
        if "blocks" not in content and "text" in content:
            message.pop("blocks", None)
        message |= {**content, "edited": {"user": self._world.bot, "ts": self._world.ts()}}
        self._number(message)
        await self._tell(chat, message, "chat.update")
        if self._echoes:
            self._events.emit(self._events.changed(chat, dict(message), before), chat=chat)
        return {"channel": chat.id, "ts": message["ts"], "text": message["text"], "message": message}

    async def delete(self, params: Json) -> Json:
        """chat.delete, for the bot's own messages."""
        chat, message = self._found(params)
        self._own(message, "cant_delete_message")
        del chat.messages[message["ts"]]
        if self._echoes:
            self._events.emit(self._events.deleted(chat, message), chat=chat)
        return {"channel": chat.id, "ts": message["ts"]}

    async def react(self, params: Json) -> Json:
        """reactions.add, once for each emoji."""
        name, reactions = self._reaction(params)
        if name in reactions:
            raise ApiError("already_reacted")
        reactions.append(name)
        return {}

    async def unreact(self, params: Json) -> Json:
        """reactions.remove, of what was added."""
        name, reactions = self._reaction(params)
        if name not in reactions:
            raise ApiError("no_reaction")
        reactions.remove(name)
        return {}

    async def status(self, params: Json) -> Json:
        """assistant.threads.setStatus: the bot is seen at work until it posts, or for two minutes."""
        channel, thread = required(params, "channel_id", "thread_ts")
        if "status" not in params:
            raise missing("status")
        chat = self._world.reached(channel)
        if not _TS.match(thread):
            raise ApiError("invalid_thread_ts")
        self._typing(chat.id, STATUS_SECONDS if params["status"] else 0.0)
        return {}

    async def say(self, chat: Chat, content: Json, method: str) -> Json:
        """Post as the bot, and let everyone know."""
        message = self._world.post(chat, self._world.own(**content))
        self._number(message)
        await self._tell(chat, message, method)
        if self._echoes:
            self._events.emit(self._events.message(chat, dict(message)), chat=chat)
        return message

    def writable(self, params: Json) -> Chat:
        """The conversation, if the bot can post in it. Raises ApiError."""
        chat = self._world.reached(str(params.get("channel") or ""))
        if chat.archived:
            raise ApiError("is_archived")
        if not chat.joined:
            raise ApiError("not_in_channel")
        return chat

    def thread(self, given: Any, *, broadcast: bool = False) -> Json:
        """Where a reply goes. Raises ApiError."""
        if not _TS.match(str(given)):
            raise ApiError("invalid_thread_ts")
        return {"thread_ts": str(given), **({"subtype": "thread_broadcast"} if broadcast else {})}

    def _found(self, params: Json) -> tuple[Chat, Json]:
        _, ts = required(params, "channel", "ts")
        chat = self._world.chats.get(str(params["channel"]))
        if chat is None or not chat.joined:
            raise ApiError("channel_not_found")
        if chat.archived:
            raise ApiError("is_archived")
        if ts not in chat.messages:
            raise ApiError("message_not_found")
        return chat, chat.messages[ts]

    def _own(self, message: Json, refusal: str) -> None:
        if message.get("bot_id") != self._world.bot_id:
            raise ApiError(refusal)

    def _reaction(self, params: Json) -> tuple[str, list[str]]:
        (name,) = required(params, "name")
        if not (params.get("channel") and params.get("timestamp")):
            raise ApiError("no_item_specified")
        chat = self._world.reached(str(params["channel"]))
        if not _EMOJI.match(name):
            raise ApiError("invalid_name")
        message = chat.messages.get(str(params["timestamp"]))
        if message is None:
            raise ApiError("message_not_found")
        return name, message.setdefault("reactions", [])

    def _pace(self, chat: Chat) -> None:
        now = time.monotonic()
        wait = self._last.get(chat.id, -1e9) + self._per_channel - now
        if self._per_channel and wait > 0:
            raise ApiError("ratelimited", retry_after=math.ceil(wait))
        self._last[chat.id] = now

    def _number(self, message: Json) -> None:
        for block in message.get("blocks", []):
            block.setdefault("block_id", f"b{self._world.serial()}")

    async def _tell(self, chat: Chat, message: Json, method: str) -> None:
        blocks = message.get("blocks", [])
        text = read(message["text"], blocks)
        named = "\n".join(f"[{file['name']}]" for file in message.get("files", []))
        markup = json.dumps(blocks, ensure_ascii=False) if blocks else message["text"]
        await self._said(
            chat.id,
            f"{chat.id}:{message['ts']}",
            "\n".join(part for part in (text, named) if part),
            method,
            markup=markup,
            buttons=[
                {"text": one["text"]["text"], "data": one.get("value", ""), "action_id": one.get("action_id", "")}
                for one in buttons(blocks)
            ],
            files=[
                seen(file["name"], file["mimetype"], self._world.files[file["id"]].content)
                for file in message.get("files", [])
            ],
        )


def told(params: Json) -> list[str]:
    """The pings in what a call says, as far as it can be read."""
    try:
        blocks = unpacked(params.get("blocks") or [])
    except ApiError:
        blocks = []
    texts = [str(params.get(name) or "") for name in ("text", "markdown_text", "initial_comment")]
    return pings(params, "\n".join(texts), blocks if isinstance(blocks, list) else [])


def _content(params: Json, limit: int) -> Json:
    """The words and blocks of a message. Raises ApiError."""
    text, markdown = str(params.get("text") or ""), str(params.get("markdown_text") or "")
    blocks = checked(params["blocks"]) if params.get("blocks") else []
    if markdown:
        if text or blocks:
            raise ApiError("markdown_text_conflict")
        if len(markdown) > MARKDOWN_TEXT_MAX:
            raise ApiError("msg_too_long")
        return {"text": markdown, "blocks": [{"type": "markdown", "text": markdown}]}
    attachments = unpacked(params.get("attachments")) or []
    if not (text.strip() or blocks or attachments):
        raise ApiError("no_text")
    if len(text) > limit:
        raise ApiError("msg_too_long")
    if len(attachments) > ATTACHMENTS_MAX:
        raise ApiError("too_many_attachments")
    content: Json = {"text": text, "blocks": blocks, "attachments": attachments}
    return {name: value for name, value in content.items() if value or name == "text"}
