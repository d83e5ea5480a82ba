"""What the people of a turn said, as the one text a model reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from channels.message import Attachment, InboundMessage, Kind

_NOTES: dict[Kind, str] = {"edit": "edited", "reaction": "reaction", "membership": "membership"}

LONGEST_NAME = 64
"""Characters kept of a sender's name: it is the sender's own choice, and not a place for instructions."""


def user_turn(messages: Sequence[InboundMessage]) -> str:
    """The messages of a burst in order, one below the other; in groups each begins with `[its sender's name]`.

    A command is as its writer typed it, a pressed button is its value, and an attachment is a line in brackets.
    """
    return "\n".join(_line(message) for message in messages)


def question(text: str) -> str:
    """A text of `user_turn` without what stands in brackets: the words alone."""
    return re.sub(r"^\[[^\]\n]*\][ ]?", "", text, flags=re.MULTILINE).strip()


def _line(message: InboundMessage) -> str:
    said = _said(message)
    if message.kind in _NOTES:
        said = f"[{_NOTES[message.kind]}] {said}".strip()
    lines = [said] if said else []
    lines += [_attachment(a) for a in message.attachments]
    text = "\n".join(lines) or f"[{message.kind}]"
    return text if message.scope == "dm" else f"[{_name(message)}] {text}"


def _said(message: InboundMessage) -> str:
    if message.action is not None:
        return message.action.value or message.action.id
    if message.command is not None:
        return f"/{message.command.name} {message.command.args}".strip()
    return message.text.strip()


def _name(message: InboundMessage) -> str:
    sender = message.sender
    name = " ".join((sender.name or sender.handle or sender.id).split())
    return re.sub(r"[\[\]]", "", name)[:LONGEST_NAME] or "someone"


def _attachment(attachment: Attachment) -> str:
    name = " ".join(attachment.name.split())
    facts = [attachment.media_type, _size(attachment.size)]
    label = " ".join(part for part in (attachment.kind, re.sub(r"[\[\]]", "", name)) if part)
    described = ", ".join([label, *(fact for fact in facts if fact)])
    where = f"inbox/{PurePath(attachment.path).name}" if attachment.path else "not fetched"
    return f"[{described}: {where}]"


def _size(size: int | None) -> str:
    if size is None:
        return ""
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"
