"""What is said, as Bot API calls. Pure."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from channels.adapter import Call
from channels.message import Attachment, Button, Conversation, OutboundMessage
from channels.telegram.render import RenderedPiece, render_text

Params = dict[str, JsonValue]

CAPTION_LIMIT = 1024
"""Characters of a file's caption at most, counted after entity parsing."""

PHOTO_BYTES = 10_000_000
"""A larger picture can't be sent as a photo."""

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
    """The calls that say this message, in order: its files, then its text in pieces.

    A text that fits is the caption of the last file. In a group the first call replies; the last one has the buttons.
    """
    match message.purpose:
        case "typing":
            return [_in_chat("sendChatAction", message, {"action": "typing"})]
        case "ack":
            return _acknowledge(message)
        case _:
            return _say(message)


def _say(message: OutboundMessage) -> list[Call]:
    files = [_file(attachment) for attachment in message.attachments if attachment.path]
    captions = render_text(message.text, CAPTION_LIMIT) if files else []
    calls = [_in_chat(method, message, params) for method, params in files]
    if len(captions) == 1:
        calls[-1] = _worded(calls[-1], "caption", captions[0])
    else:
        text: Params = {"link_preview_options": {"is_disabled": True}}
        calls += [_worded(_in_chat("sendMessage", message, text), "text", piece) for piece in render_text(message.text)]
    if calls:
        calls[0] = _with(calls[0], _reply(message))
        calls[-1] = _with(calls[-1], _keyboard(message.buttons))
    return calls


def _file(attachment: Attachment) -> tuple[str, Params]:
    method, field = METHODS.get(attachment.kind, ("sendDocument", "document"))
    if method == "sendPhoto" and (attachment.size or 0) > PHOTO_BYTES:
        method, field = "sendDocument", "document"
    name: Params = {"name": attachment.name} if attachment.name else {}
    return method, {field: {"path": attachment.path, **name}}


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


def _in_chat(method: str, message: OutboundMessage, params: Params) -> Call:
    """A call to the conversation, in its topic if it has one."""
    return _call(method, message, {**_chat(message.conversation), **params})


def _call(method: str, message: OutboundMessage, params: Params) -> Call:
    return Call(method, params, chat_id=message.conversation.chat_id, is_group=message.scope != "dm")


def _worded(call: Call, field: str, piece: RenderedPiece) -> Call:
    html: Params = {**call.params, field: piece.html, "parse_mode": "HTML"}
    return replace(call, params=html, plain={**call.params, field: piece.plain})


def _with(call: Call, more: Params) -> Call:
    return replace(call, params={**call.params, **more}, plain=None if call.plain is None else {**call.plain, **more})


def _chat(conversation: Conversation) -> Params:
    chat: Params = {"chat_id": int(conversation.chat_id)}
    if conversation.thread_id is not None:
        chat["message_thread_id"] = int(conversation.thread_id)
    return chat


def _reply(message: OutboundMessage) -> Params:
    """In a group it matters what is answered; in a private chat it is plain."""
    if message.scope != "group" or not message.reply_to:
        return {}
    number = message.reply_to.rpartition(":")[2]
    return {"reply_parameters": {"message_id": int(number), "allow_sending_without_reply": True}}


def _keyboard(buttons: tuple[Button, ...]) -> Params:
    """One button a row: labels are sentences, and a row shares the width of a telephone."""
    rows: list[JsonValue] = [[_button(button)] for button in buttons]
    return {"reply_markup": {"inline_keyboard": rows}} if rows else {}


def _button(button: Button) -> Params:
    """The id and the value share 64 bytes; a value that doesn't fit is left out, and the id stands for it."""
    if button.url:
        return {"text": button.label, "url": button.url}
    data = button.id if button.value in ("", button.id) else f"{button.id}\n{button.value}"
    if len(data.encode()) > CALLBACK_BYTES:
        data = button.id.encode()[:CALLBACK_BYTES].decode(errors="ignore")
    return {"text": button.label, "callback_data": data}
