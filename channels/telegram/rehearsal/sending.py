"""What the Bot API checks before it sends: text, entities, buttons, topics, replies."""

from __future__ import annotations

import json
import re
from typing import Any

from channels.telegram.rehearsal.entities import html, markdown_v2
from channels.telegram.rehearsal.entities.detect import utf16
from channels.telegram.rehearsal.errors import bad_request
from channels.telegram.rehearsal.world import Chat

Json = dict[str, Any]

TEXT_MAX, CAPTION_MAX, RAW_MAX, ENTITIES_MAX, CALLBACK_MAX = 4096, 1024, 35_000, 100, 64

_NUL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def formatted(params: Json, field: str, limit: int) -> tuple[str, list[Json]]:
    """A text or caption after entity parsing, within its limit. Raises ApiError in Telegram's words."""
    source = str(params.get(field, ""))
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise bad_request("strings must be encoded in UTF-8") from None
    if size > RAW_MAX:
        raise bad_request("message is too long")
    mode = str(params.get("parse_mode", "")).lower()
    if mode == "html":
        text, entities = html.parse(source)
    elif mode == "markdownv2":
        text, entities = markdown_v2.parse(source)
    elif mode:
        raise bad_request("unsupported parse_mode")
    else:
        text, entities = source, unpacked(params.get("entities", []))
    text = _NUL.sub("", text)
    if len(text) > limit:
        raise bad_request("message is too long" if field == "text" else "message caption is too long")
    if field == "text" and not text.strip():
        raise bad_request("message text is empty")
    end = utf16(text)
    if any(e["offset"] < 0 or e["offset"] + e["length"] > end for e in entities):
        raise bad_request("entity is out of the text")
    return text, entities[:ENTITIES_MAX]


def keyboard(params: Json) -> Json | None:
    """The inline keyboard of a call. Raises ApiError."""
    markup = unpacked(params.get("reply_markup"))
    if not markup:
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    for row in markup.get("inline_keyboard", []):
        for button in row:
            if not button.get("text"):
                raise bad_request(
                    "inline keyboard button text can't be empty" if "text" in button else "BUTTON_TEXT_EMPTY"
                )
            data = button.get("callback_data")
            if data is None and not button.get("url"):
                raise bad_request("inline keyboard button must have exactly one of the optional fields")
            if data is not None and not 1 <= len(str(data).encode()) <= CALLBACK_MAX:
                raise bad_request("BUTTON_DATA_INVALID")
    return markup


def placed(params: Json, chat: Chat) -> Json:
    """Where in the chat a message goes: its topic, and what it replies to. Raises ApiError."""
    where: Json = {}
    thread = params.get("message_thread_id")
    if thread is not None:
        if int(thread) not in chat.topics:
            raise bad_request("message thread not found")
        where |= {"message_thread_id": int(thread), "is_topic_message": True}
    reply = unpacked(params.get("reply_parameters"))
    if reply:
        target = chat.messages.get(int(reply["message_id"]))
        if target is not None:
            where["reply_to_message"] = {k: v for k, v in target.items() if k != "reply_to_message"}
        elif not reply.get("allow_sending_without_reply"):
            raise bad_request("message to be replied not found")
    return where


def unpacked(value: Any) -> Any:
    """A parameter that may have come as JSON in a form."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            raise bad_request("can't parse a parameter as JSON object") from None
    return value


def flag(value: Any) -> bool:
    """A boolean parameter, as JSON or as text."""
    return value in (True, 1, "true", "True", "1")
