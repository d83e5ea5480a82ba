"""The texts and captions of a call, from what was sent to what is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from channels.telegram.rehearsal.entities import html, markdown_v2
from channels.telegram.rehearsal.entities.settle import Entity, Formatted, settle
from channels.telegram.rehearsal.errors import ApiError, bad_request
from channels.telegram.rehearsal.params import Json, field_of, unpacked

TEXT_MAX, CAPTION_MAX = 4096, 1024
"""Characters after entity parsing, from the Bot API's documentation."""

RAW_MAX = 1 << 15
"""Bytes before entity parsing, from the Bot API server's source."""

ENTITIES_MAX = 100
"""Entities that a message keeps; the rest of the text is plain."""

ENTITY_BYTES_MAX = 9_500
"""All entities of a message, serialised; an approximation that the server's maintainer confirmed."""

FOUND_BY_ITSELF = {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"}
GIVEN = {
    "bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "text_link", "text_mention",
    "custom_emoji", "blockquote", "expandable_blockquote",
}  # fmt: skip


_PERSON = re.compile(r"tg:(?://)?user\?id=(\d+)$", re.IGNORECASE)


class Wording:
    """A text or caption as a call gives it, its markup read. Raises ApiError where the markup is broken."""

    def __init__(self, params: Json, name: str) -> None:
        source = params.get(name, "")
        self.name = name
        self.source = source if isinstance(source, str) else str(source)
        if name == "text" and not self.source:
            raise bad_request("message text is empty")
        if len(self.source) > RAW_MAX // 4 and len(self.source.encode()) > RAW_MAX:
            raise bad_request("text is too long")
        mode = str(params.get("parse_mode", "")).lower()
        if not self.source or mode in ("", "none"):
            self._text, self._entities = self.source, _given(params, name)
        elif mode == "html":
            self._text, self._entities = html.parse(self.source)
        elif mode == "markdownv2":
            self._text, self._entities = markdown_v2.parse(self.source)
        else:
            raise bad_request("unsupported parse_mode")

    def settled(self, people: Mapping[int, Json]) -> Formatted:
        """As a message keeps it, with `people` who can be mentioned by a link.

        Raises ApiError where it is empty, too long, or its entities are impossible.
        """
        kept = settle(self._text, [known for e in self._entities if (known := _mentioned(e, people))])
        if self.name == "text" and not kept.text:
            raise bad_request("text must be non-empty")
        if len(kept.text) > (TEXT_MAX if self.name == "text" else CAPTION_MAX):
            raise bad_request("message is too long" if self.name == "text" else "message caption is too long")
        if sum(12 + len(str(e.get("url", "")).encode()) for e in kept.entities) > ENTITY_BYTES_MAX:
            raise bad_request("ENTITIES_TOO_LONG")
        return Formatted(kept.text, kept.entities[:ENTITIES_MAX])


def _mentioned(entity: Entity, people: Mapping[int, Json]) -> Entity | None:
    """A link to a person is a mention, or nothing where the bot doesn't know them."""
    found = _PERSON.match(entity.get("url", ""))
    if found is None:
        return entity
    user = people.get(int(found[1]))
    place = {"offset": entity["offset"], "length": entity["length"]}
    return {"type": "text_mention", **place, "user": user} if user else None


def _given(params: Json, name: str) -> list[Entity]:
    """The entities that a call names itself; a parameter that is no JSON counts as none."""
    try:
        values = unpacked(params, "entities" if name == "text" else f"{name}_entities", "")
    except ApiError:
        return []
    return [entity for value in values if (entity := _entity(value))] if isinstance(values, list) else []


def _entity(value: Any) -> Entity | None:
    if not isinstance(value, dict):
        raise _unreadable("expected an Object")
    offset = field_of(value, "offset", int, _unreadable, required=True)
    length = field_of(value, "length", int, _unreadable, required=True)
    kind = field_of(value, "type", str, _unreadable, required=True)
    if not 0 <= offset <= 1_000_000:
        raise bad_request(f"receive an entity with incorrect offset {offset}")
    if not 0 <= length <= 1_000_000:
        raise bad_request(f"receive an entity with incorrect length {length}")
    if kind in FOUND_BY_ITSELF or not length:
        return None
    if kind not in GIVEN:
        raise _unreadable("Unsupported type specified")
    needed: dict[str, tuple[str, type]] = {
        "text_link": ("url", str), "text_mention": ("user", dict), "custom_emoji": ("custom_emoji_id", str),
    }  # fmt: skip
    more: Json = {}
    if kind in needed:
        name, type_ = needed[kind]
        more[name] = field_of(value, name, type_, _unreadable, required=True)
    elif kind == "pre" and (language := field_of(value, "language", str, _unreadable)):
        more["language"] = language
    return {"type": kind, "offset": offset, "length": length, **more}


def _unreadable(problem: str) -> ApiError:
    return bad_request(f"can't parse MessageEntity: {problem}")
