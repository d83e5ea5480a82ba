"""The methods of the Bot API that are rehearsed."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from channels.telegram.rehearsal.errors import ApiError, bad_request
from channels.telegram.rehearsal.sending import CAPTION_MAX, TEXT_MAX, flag, formatted, keyboard, placed, unpacked
from channels.telegram.rehearsal.updates import Updates, checked_webhook
from channels.telegram.rehearsal.world import Chat, World, measured

Json = dict[str, Any]
Said = Callable[..., Awaitable[None]]

ACTIONS = {
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
}
FILES = {"sendPhoto": "photo", "sendDocument": "document", "sendAudio": "audio", "sendVoice": "voice",
         "sendVideo": "video", "sendAnimation": "animation"}  # fmt: skip
GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
DOWNLOAD_MAX = 20_000_000


class Methods:
    """Each public coroutine is a method of the Bot API, by its own name."""

    def __init__(self, world: World, updates: Updates, said: Said, per_chat: float) -> None:
        self._world = world
        self._updates = updates
        self._said = said
        self._per_chat = per_chat
        self._last: dict[int, float] = {}

    def find(self, name: str) -> Callable[[Json], Awaitable[Any]] | None:
        """The method of that name, in any case, as Telegram takes it."""
        wanted = name.lower()
        if wanted in _FILES:
            return partial(self.send_file, _FILES[wanted])
        own: Callable[[Json], Awaitable[Any]] | None = getattr(self, _OWN.get(wanted, ""), None)
        return own

    async def get_me(self, _params: Json) -> Json:
        """The bot itself."""
        return self._world.me

    async def get_updates(self, params: Json) -> list[Json]:
        """Waits for updates; an offset confirms all before it."""
        allowed = unpacked(params["allowed_updates"]) if "allowed_updates" in params else None
        limit = min(100, max(1, int(params.get("limit", 100))))
        return await self._updates.poll(int(params.get("offset", 0)), limit, float(params.get("timeout", 0)), allowed)

    async def set_webhook(self, params: Json) -> bool:
        """An empty URL takes the webhook away."""
        webhook = checked_webhook(params)
        drop = flag(params.get("drop_pending_updates"))
        if not webhook["url"]:
            self._updates.delete_webhook(drop=drop)
            return True
        allowed = unpacked(params["allowed_updates"]) if "allowed_updates" in params else None
        self._updates.set_webhook(webhook, allowed, drop=drop)
        return True

    async def delete_webhook(self, params: Json) -> bool:
        """Back to polling; what waits is kept unless it is to be dropped."""
        self._updates.delete_webhook(drop=flag(params.get("drop_pending_updates")))
        return True

    async def get_webhook_info(self, _params: Json) -> Json:
        """Tells what waits and what failed last, never the secret."""
        return self._updates.info()

    async def get_chat(self, params: Json) -> Json:
        """Only a chat that the bot has met is found."""
        info = self._world.chat(params.get("chat_id")).info
        gifts = dict.fromkeys(GIFTS, False)
        return {**info, "accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}

    async def set_my_commands(self, _params: Json) -> bool:
        """Taken and not kept: no phone here shows a menu."""
        return True

    async def send_message(self, params: Json) -> Json:
        """A text, measured after entity parsing."""
        chat = self._paced(params)
        text, entities = formatted(params, "text", TEXT_MAX)
        content: Json = {"text": text, **({"entities": entities} if entities else {})}
        return await self._post("sendMessage", chat, params, content, text, str(params.get("text", "")))

    async def send_file(self, method: str, params: Json) -> Json:
        """Every method that sends one file: uploaded, or named by its file_id."""
        field = FILES[method]
        chat = self._paced(params)
        given = params.get(field)
        if given is None or given == "":
            raise bad_request(f"there is no {field} in the request")
        if isinstance(given, str) and given not in self._world.files:
            raise bad_request("wrong file identifier/HTTP URL specified")
        name, content = self._world.files[given] if isinstance(given, str) else (given.filename, given.file.read())
        file_id = given if isinstance(given, str) else self._world.keep_file(name, content)
        caption, entities = formatted(params, "caption", CAPTION_MAX)
        size = {"file_id": file_id, "file_unique_id": f"u{file_id}", "file_size": len(content)}
        file: Any = measured(field, {**size, "file_name": name})
        body: Json = {field: file}
        if caption:
            body |= {"caption": caption, **({"caption_entities": entities} if entities else {})}
        return await self._post(method, chat, params, body, caption or f"[{field}: {name}]", caption)

    async def edit_message_text(self, params: Json) -> Json:
        """Only the bot's own message, and only into something else."""
        message = self._own(params)
        text, entities = formatted(params, "text", TEXT_MAX)
        markup = keyboard(params)
        if (
            text == message.get("text")
            and entities == message.get("entities", [])
            and markup == message.get("reply_markup")
        ):
            raise bad_request(
                "message is not modified: specified new message content and reply markup are exactly the same as a"
                " current content and reply markup of the message"
            )
        message |= {"text": text, "entities": entities, "edit_date": int(time.time())}
        _mark(message, markup)
        chat = str(message["chat"]["id"])
        await self._said(chat, f"{chat}:{message['message_id']}", text, "editMessageText", markup=str(params["text"]))
        return message

    async def edit_message_reply_markup(self, params: Json) -> Json:
        """Without a markup the buttons go."""
        message = self._own(params)
        markup = keyboard(params)
        if markup == message.get("reply_markup"):
            raise bad_request("message is not modified: specified new message content and reply markup are the same")
        _mark(message, markup)
        return message

    async def delete_message(self, params: Json) -> bool:
        """Gone means gone: a second time it is not found."""
        chat = self._world.chat(params.get("chat_id"))
        if chat.messages.pop(int(params.get("message_id", 0)), None) is None:
            raise bad_request("message to delete not found")
        return True

    async def send_chat_action(self, params: Json) -> bool:
        """Shows nothing, checks the name of the action."""
        self._world.chat(params.get("chat_id"))
        if params.get("action") not in ACTIONS:
            raise bad_request("wrong parameter action in request")
        return True

    async def answer_callback_query(self, params: Json) -> bool:
        """Each press is answered once."""
        query = str(params.get("callback_query_id", ""))
        if query not in self._world.queries:
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        self._world.queries.remove(query)
        return True

    async def set_message_reaction(self, params: Json) -> bool:
        """Taken for a message that exists."""
        chat = self._world.chat(params.get("chat_id"))
        if int(params.get("message_id", 0)) not in chat.messages:
            raise bad_request("message to react not found")
        return True

    async def get_file(self, params: Json) -> Json:
        """Where to fetch a file that is not too large for a bot."""
        file_id = str(params.get("file_id", ""))
        if file_id not in self._world.files:
            raise bad_request("invalid file_id")
        name, content = self._world.files[file_id]
        if len(content) > DOWNLOAD_MAX:
            raise bad_request("file is too big")
        path = f"files/{file_id}/{name}"
        return {"file_id": file_id, "file_unique_id": f"u{file_id}", "file_size": len(content), "file_path": path}

    async def _post(self, method: str, chat: Chat, params: Json, body: Json, text: str, markup: str) -> Json:
        buttons = keyboard(params)
        content = {"from": self._world.bot, **placed(params, chat), **body}
        if buttons is not None:
            content["reply_markup"] = buttons
        message = self._world.post(chat, content)
        rows = (buttons or {}).get("inline_keyboard", [])
        flat = [{"text": b["text"], "data": b.get("callback_data", "")} for row in rows for b in row]
        number = str(chat.info["id"])
        await self._said(number, f"{number}:{message['message_id']}", text, method, markup=markup, buttons=flat)
        return message

    def _own(self, params: Json) -> Json:
        chat = self._world.chat(params.get("chat_id"))
        message = chat.messages.get(int(params.get("message_id", 0)))
        if message is None:
            raise bad_request("message to edit not found")
        if message.get("from", {}).get("id") != self._world.bot["id"]:
            raise bad_request("message can't be edited")
        return message

    def _paced(self, params: Json) -> Chat:
        """The chat, unless it got a message less than the configured pause ago."""
        chat = self._world.chat(params.get("chat_id"))
        now, number = time.monotonic(), chat.info["id"]
        wait = self._last.get(number, -1e9) + self._per_chat - now
        if self._per_chat and wait > 0:
            seconds = math.ceil(wait)
            raise ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
        self._last[number] = now
        return chat


def _mark(message: Json, markup: Json | None) -> None:
    message.pop("reply_markup", None)
    if markup is not None:
        message["reply_markup"] = markup


_FILES = {method.lower(): method for method in FILES}
_OWN = {
    name.replace("_", ""): name
    for name in (
        "get_me",
        "get_updates",
        "set_webhook",
        "delete_webhook",
        "get_webhook_info",
        "get_chat",
        "set_my_commands",
        "send_message",
        "edit_message_text",
        "edit_message_reply_markup",
        "delete_message",
        "send_chat_action",
        "answer_callback_query",
        "set_message_reaction",
        "get_file",
    )
}
