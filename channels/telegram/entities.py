"""Entities: commands and mentions in a text. Offsets are UTF-16 units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from channels.message import Command

Entity = Mapping[str, Any]

_LINK = re.compile(r"^(?:https?://)?(?:www\.)?(?:t|telegram)\.me/(\w+)/?(?:\?.*)?$", re.IGNORECASE)
_TG_LINK = re.compile(r"^tg://(?:resolve\?domain=(\w+)|user\?id=(\d+))", re.IGNORECASE)


def slices(text: str, entities: Sequence[Entity]) -> Iterator[tuple[Entity, str]]:
    """Each entity with the text it covers."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    for entity in entities:
        start, length = int(entity["offset"]), int(entity["length"])
        covered = encoded[start * 2 : (start + length) * 2]
        yield entity, covered.decode("utf-16-le", "replace")


def command_of(text: str, entities: Sequence[Entity], username: str) -> tuple[Command | None, bool]:
    """The command at the start of a text, and whether it is one for another bot (then there is no command for us)."""
    for entity, covered in slices(text, entities):
        if entity["type"] == "bot_command" and int(entity["offset"]) == 0:
            name, _, bot = covered.removeprefix("/").partition("@")
            if bot and bot.lower() != username.lower():
                return None, True
            return Command(name.lower(), text[len(covered) :].strip()), False
    return None, False


def mentions(text: str, entities: Sequence[Entity], bot_id: int, username: str) -> bool:
    """Whether the bot is mentioned: by name, by a mention of its user, or by a link to it."""
    own = username.lower()
    for entity, covered in slices(text, entities):
        match entity["type"]:
            case "mention" if covered.lower() == f"@{own}":
                return True
            case "text_mention" if entity["user"]["id"] == bot_id:
                return True
            case "text_link" if _links_to(str(entity["url"]), bot_id, own):
                return True
    return False


def _links_to(url: str, bot_id: int, username: str) -> bool:
    if found := _LINK.match(url):
        return found[1].lower() == username
    if found := _TG_LINK.match(url):
        return found[1].lower() == username if found[1] else found[2] == str(bot_id)
    return False
