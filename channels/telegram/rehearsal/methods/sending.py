"""Messages that the bot sends, in the order in which the server finds fault with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from channels.rehearsal.journal import seen
from channels.telegram.rehearsal.errors import ApiError, bad_request
from channels.telegram.rehearsal.keyboard import check_data, inline, keyboard, shown
from channels.telegram.rehearsal.methods.bot import Bot, Json, Method
from channels.telegram.rehearsal.params import Upload, field_of, flag, integer, unpacked
from channels.telegram.rehearsal.wording import Wording
from channels.telegram.rehearsal.world import Chat, bare, measured

PHOTO_MAX = 10 * 1024 * 1024
"""Bytes of a photo, from the Bot API's documentation."""

Content = tuple[Json, str, list[Json]]
"""What a message holds, what a person reads of it, and its files."""

FILES = {
    "sendPhoto": "photo",
    "sendDocument": "document",
    "sendAudio": "audio",
    "sendVoice": "voice",
    "sendVideo": "video",
    "sendAnimation": "animation",
}


async def send_message(bot: Bot, params: Json) -> Json:
    """A text, measured after entity parsing."""
    preview = _preview(params)
    wording = Wording(params, "text")

    def content() -> Content:
        kept = wording.settled(bot.world.people)
        return {**kept.as_fields("text"), **preview}, kept.text, []

    return await _send(bot, "sendMessage", params, wording.source, content)


async def send_file(method: str, bot: Bot, params: Json) -> Json:
    """Every method that sends one file: uploaded, or named by its file_id."""
    field = FILES[method]
    given = params.get(field)
    if given is None or given == "":
        raise bad_request(f"there is no {field} in the request")
    wording = Wording(params, "caption")

    def content() -> Content:
        caption = wording.settled(bot.world.people)
        file = _file(bot, field, given)
        name = file.get("file_name", field)
        body = {field: measured(field, file), **caption.as_fields("caption")}
        kept = seen(name, file.get("mime_type", ""), bot.world.files[file["file_id"]][1])
        return body, caption.text or f"[{field}: {name}]", [kept]

    return await _send(bot, method, params, wording.source, content)


async def _send(bot: Bot, method: str, params: Json, markup: str, content: Callable[[], Content]) -> Json:
    reply, buttons = _reply(params), keyboard(params)
    chat = bot.world.chat(params.get("chat_id"))
    place = _place(params, chat, reply)
    body, text, files = content()
    check_data(buttons)
    bot.pace.spend(chat)
    sender = {"sender_chat": chat.info} if chat.kind == "channel" else {"from": bot.world.bot}
    message = bot.world.post(chat, {**sender, **place, **body, **inline(buttons)}, own=True)
    number = str(chat.id)
    ref = f"{number}:{message['message_id']}"
    await bot.said(number, ref, text, method, markup=markup, buttons=shown(buttons), files=files)
    return message


def _reply(params: Json) -> Json:
    """The reply parameters, or their older form. Raises ApiError."""
    if "reply_parameters" not in params:
        number = integer(params, "reply_to_message_id")
        return {"message_id": number, "gone": flag(params, "allow_sending_without_reply")} if number > 0 else {}
    given = unpacked(params, "reply_parameters", "can't parse reply parameters JSON object")
    if not given:
        return {}
    if not isinstance(given, dict):
        raise bad_request("object expected as reply parameters")
    number = field_of(given, "message_id", int, _unreadable, required=True)
    gone = field_of(given, "allow_sending_without_reply", bool, _unreadable)
    elsewhere = field_of(given, "chat_id", str, _unreadable)
    return {"message_id": number, "gone": bool(gone), "chat_id": elsewhere} if number > 0 else {}


def _preview(params: Json) -> Json:
    given = unpacked(params, "link_preview_options", "can't parse link preview options JSON object")
    if not given:
        return {}
    if not isinstance(given, dict):
        raise bad_request("object expected as link preview options")
    return {"link_preview_options": given}


def _place(params: Json, chat: Chat, reply: Json) -> Json:
    """Where in the chat a message goes: what it replies to, and its topic. Raises ApiError."""
    place: Json = {}
    if reply:
        target = chat.messages.get(reply["message_id"]) if reply.get("chat_id") in (None, "", str(chat.id)) else None
        if target is not None:
            place["reply_to_message"] = bare(target)
        elif not reply["gone"]:
            raise bad_request("message to be replied not found")
    thread = integer(params, "message_thread_id")
    if thread > 0:
        if thread not in chat.topics:
            raise bad_request("message thread not found")
        place |= {"message_thread_id": thread, "is_topic_message": True}
    return place


def _file(bot: Bot, field: str, given: Any) -> Json:
    world = bot.world
    if isinstance(given, Upload):
        size = len(given.content)
        if not size:
            raise bad_request("file must be non-empty")
        if field == "photo" and size > PHOTO_MAX:
            raise bad_request(
                f"file of size {size} bytes is too big for a photo; the maximum size is {PHOTO_MAX} bytes"
            )
        file_id = world.keep_file(given.name, given.content)
        return {**world.file(file_id), "file_name": given.name, "mime_type": given.media_type}
    if str(given).startswith(("http://", "https://")):
        raise bad_request("failed to get HTTP URL content")
    if given not in world.files:
        raise bad_request("wrong file identifier/HTTP URL specified")
    return {**world.file(given), "file_name": world.files[given][0]}


def _unreadable(problem: str) -> ApiError:
    return bad_request(problem[0].lower() + problem[1:])


METHODS: dict[str, Method] = {"sendMessage": send_message, **{name: partial(send_file, name) for name in FILES}}
