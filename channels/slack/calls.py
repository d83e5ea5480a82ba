"""What is said, as Web API calls. Pure."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic import JsonValue

from channels.adapter import Call
from channels.message import Attachment, Button, Conversation, OutboundMessage
from channels.slack.render import RenderedPiece, render_text

POST = "chat.postMessage"

UPLOAD = "files.upload"
"""Stands for the three steps of a file: ask for an address, give it the bytes, share the file."""

LABEL_MAX, ID_MAX, VALUE_MAX = 75, 255, 2000
ELEMENTS_MAX = 25
"""Buttons of one `actions` block."""

BUTTON_ID = re.compile(r"^\d+:")
"""Before a button's own id: Slack wants each `action_id` of a message to be different."""

LINK_ID = "open:"
"""Before the number of a button that opens an address; pressing it says nothing to an agent."""

TYPING = "is thinking…"


def render(message: OutboundMessage) -> list[Call]:
    """The calls that say this message, in order: its files, then its text in pieces, buttons under the last."""
    match message.purpose:
        case "typing":
            return _typing(message)
        case "ack":
            return _acknowledge(message)
        case _:
            return [*(_file(message, a, a.path) for a in message.attachments if a.path), *_texts(message)]


def _texts(message: OutboundMessage) -> list[Call]:
    pieces = render_text(message.text)
    return [
        _post(message, piece, message.buttons if number == len(pieces) else ())
        for number, piece in enumerate(pieces, 1)
    ]


def _post(message: OutboundMessage, piece: RenderedPiece, buttons: tuple[Button, ...]) -> Call:
    shared: dict[str, JsonValue] = {
        **_place(message.conversation, "channel"),
        "unfurl_links": False,
        "unfurl_media": False,
        "mrkdwn": False,  # the text is plain: with blocks it is only what a notification shows
        **_way_back(message),
    }
    blocks: list[JsonValue] = [*piece.blocks, *_actions(buttons)]
    labels = "".join(f"\n• {_escaped(button.label)}" for button in buttons)
    return _call(
        POST,
        message,
        {**shared, "text": piece.text, "blocks": blocks},
        plain={**shared, "text": f"{piece.text}{labels}"},
    )


def _file(message: OutboundMessage, attachment: Attachment, path: str) -> Call:
    name = attachment.name or Path(path).name
    return _call(UPLOAD, message, {**_place(message.conversation, "channel_id"), "path": path, "filename": name})


def _typing(message: OutboundMessage) -> list[Call]:
    """Slack shows a bot's state in threads only; it goes away with the next message."""
    if message.conversation.thread_id is None:
        return []
    place = _place(message.conversation, "channel_id")
    return [_call("assistant.threads.setStatus", message, {**place, "status": TYPING})]


def _acknowledge(message: OutboundMessage) -> list[Call]:
    """Take the buttons away: they work once. The press itself was acknowledged when it was stored."""
    action = message.action
    if action is None or not action.ack_ref or not action.message_ref:
        return []
    channel, _, ts = action.message_ref.rpartition(":")
    return [_call("chat.update", message, {"channel": channel, "ts": ts, **json.loads(action.ack_ref)})]


def _call(
    method: str, message: OutboundMessage, params: dict[str, JsonValue], plain: dict[str, JsonValue] | None = None
) -> Call:
    return Call(method, params, chat_id=message.conversation.chat_id, is_group=message.scope != "dm", plain=plain)


def _place(conversation: Conversation, name: str) -> dict[str, JsonValue]:
    place: dict[str, JsonValue] = {name: conversation.chat_id}
    if conversation.thread_id is not None:
        place["thread_ts"] = conversation.thread_id
    return place


def _way_back(message: OutboundMessage) -> dict[str, JsonValue]:
    """A slash command can be used where the bot isn't: its address is kept for a refusal."""
    url = message.reply_to or ""
    return {"response_url": url} if url.startswith(("https://", "http://")) else {}


def _actions(buttons: tuple[Button, ...]) -> list[JsonValue]:
    elements: list[JsonValue] = [_button(number, button) for number, button in enumerate(buttons)]
    return [
        {"type": "actions", "elements": elements[start : start + ELEMENTS_MAX]}
        for start in range(0, len(elements), ELEMENTS_MAX)
    ]


def _button(number: int, button: Button) -> dict[str, JsonValue]:
    """A value that doesn't fit is left out, and the id stands for it."""
    label = button.label or button.id
    text = label if len(label) <= LABEL_MAX else f"{label[: LABEL_MAX - 1]}…"
    element: dict[str, JsonValue] = {"type": "button", "text": {"type": "plain_text", "text": text, "emoji": True}}
    if button.url:
        return {**element, "action_id": f"{LINK_ID}{number}", "url": button.url}
    element["action_id"] = f"{number}:{button.id}"[:ID_MAX]
    if button.value and len(button.value) <= VALUE_MAX:
        element["value"] = button.value
    return element


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
