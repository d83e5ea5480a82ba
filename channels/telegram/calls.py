"""What is said, as Bot API calls. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from channels.adapter import Call
from channels.message import Attachment, Button, Conversation, OutboundMessage
from channels.telegram.render import render_text

CALLBACK_BYTES = 64
"""Bytes of a button's callback_data at most."""

METHODS = {
    "image": ("sendPhoto", "photo"),
    "audio": ("sendAudio", "audio"),
    "voice": ("sendVoice", "voice"),
    "video": ("sendVideo", "video"),
    "animation": ("sendAnimation", "animation"),
}


def render(message: OutboundMessage) -> list[Call]:
    """The calls that say this message, in order: its files, then its text in pieces, buttons under the last."""
    match message.purpose:
        case "typing":
            return [_call("sendChatAction", message, {**_chat(message.conversation), "action": "typing"})]
        case "ack":
            return _acknowledge(message)
        case _:
            return [*(_file(message, a) for a in message.attachments if a.path), *_texts(message)]


def _texts(message: OutboundMessage) -> list[Call]:
    pieces = render_text(message.text)
    calls: list[Call] = []
    for number, piece in enumerate(pieces):
        shared: dict[str, JsonValue] = {
            **_chat(message.conversation),
            "link_preview_options": {"is_disabled": True},
        }
        if number == 0:
            shared |= _reply(message)
        if number == len(pieces) - 1 and message.buttons:
            rows: list[JsonValue] = [[_button(button)] for button in message.buttons]
            shared["reply_markup"] = {"inline_keyboard": rows}
        html: dict[str, JsonValue] = {**shared, "text": piece.html, "parse_mode": "HTML"}
        calls.append(_call("sendMessage", message, html, plain={**shared, "text": piece.plain}))
    return calls


def _file(message: OutboundMessage, attachment: Attachment) -> Call:
    method, field = METHODS.get(attachment.kind, ("sendDocument", "document"))
    return _call(method, message, {**_chat(message.conversation), field: {"path": attachment.path}})


def _acknowledge(message: OutboundMessage) -> list[Call]:
    """Tell Telegram that the press was seen, and take the buttons away: a button works once."""
    action = message.action
    if action is None or not action.ack_ref:
        return []
    calls = [_call("answerCallbackQuery", message, {"callback_query_id": action.ack_ref})]
    chat, _, number = action.message_ref.rpartition(":")
    if chat:
        calls.append(_call("editMessageReplyMarkup", message, {"chat_id": int(chat), "message_id": int(number)}))
    return calls


def _call(
    method: str, message: OutboundMessage, params: dict[str, JsonValue], plain: dict[str, JsonValue] | None = None
) -> Call:
    return Call(method, params, chat_id=message.conversation.chat_id, is_group=message.scope != "dm", plain=plain)


def _chat(conversation: Conversation) -> dict[str, JsonValue]:
    chat: dict[str, JsonValue] = {"chat_id": int(conversation.chat_id)}
    if conversation.thread_id is not None:
        chat["message_thread_id"] = int(conversation.thread_id)
    return chat


def _reply(message: OutboundMessage) -> dict[str, JsonValue]:
    """In a group it matters what is answered; in a private chat it is plain."""
    if message.scope != "group" or not message.reply_to:
        return {}
    number = message.reply_to.rpartition(":")[2]
    return {"reply_parameters": {"message_id": int(number), "allow_sending_without_reply": True}}


def _button(button: Button) -> dict[str, JsonValue]:
    """The id and the value share 64 bytes; a value that doesn't fit is left out, and the id stands for it."""
    if button.url:
        return {"text": button.label, "url": button.url}
    data = button.id if button.value in ("", button.id) else f"{button.id}\n{button.value}"
    if len(data.encode()) > CALLBACK_BYTES:
        data = button.id.encode()[:CALLBACK_BYTES].decode(errors="ignore")
    return {"text": button.label, "callback_data": data}
