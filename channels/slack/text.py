"""Slack's message markup as plain text: tokens in angle brackets, and three escaped characters."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"<([^<>]*)>|&(amp|lt|gt);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">"}


def mentions(text: str, user_id: str) -> bool:
    """Whether this user is mentioned."""
    return f"<@{user_id}>" in text or f"<@{user_id}|" in text


def plain(text: str, bot: str = "") -> str:
    """The text as a person reads it. Mentions of `bot` are left out; others stay, by name where one is given."""
    return _TOKEN.sub(_read, _without(text, bot) if bot else text).strip()


def _without(text: str, bot: str) -> str:
    mention = rf"<@{re.escape(bot)}(?:\|[^<>]*)?>"
    return re.sub(rf"[ \t]?{mention}", "", re.sub(rf"\A(?:\s*{mention}[,:]?)+", "", text))


def _read(match: re.Match[str]) -> str:
    if match[2]:
        return _CHARACTERS[match[2]]
    target, _, label = match[1].partition("|")
    target, label = _unescaped(target), _unescaped(label)
    match target[:1]:
        case "@":
            return f"@{label.removeprefix('@') or target[1:]}"
        case "#":
            return f"#{label.removeprefix('#') or target[1:]}"
        case "!":
            return _special(target[1:], label)
        case _:
            address = target.removeprefix("mailto:").removeprefix("tel:")
            return f"{label} ({address})" if label and label != address else address


def _special(target: str, label: str) -> str:
    """`here`, `channel`, `everyone`, a user group by its name, a date by its fallback text."""
    name, *more = target.split("^")
    if name == "date" and label:
        return label
    return f"@{label.removeprefix('@') or (more[0] if more else name)}"


def _unescaped(text: str) -> str:
    return _TOKEN.sub(lambda match: _CHARACTERS[match[2]], text)
