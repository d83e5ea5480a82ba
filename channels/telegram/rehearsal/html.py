"""Telegram's HTML: the text and its entities, or the server's own complaint. Offsets in errors are bytes."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from channels.telegram.rehearsal.errors import ApiError, bad_request

TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}
NAMED = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"'}

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[^<>]*)?)\s*>")
_SPECIAL = re.compile("[<&]")
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")

Entity = dict[str, Any]


def parse(source: str) -> tuple[str, list[Entity]]:
    """Text and entities, offsets in UTF-16 units. Raises ApiError."""
    text: list[str] = []
    units = 0
    entities: list[Entity] = []
    opened: list[tuple[str, Entity, int]] = []
    position = 0

    def add(piece: str) -> None:
        nonlocal units
        text.append(piece)
        units += len(piece.encode("utf-16-le")) // 2

    while position < len(source):
        char = source[position]
        if char == "&":
            found = _ENTITY.match(source, position)
            add(NAMED.get(found[0]) or unescape(found[0]) if found else "&")
            position = found.end() if found else position + 1
        elif char != "<":
            end = min(
                (e for e in (source.find("<", position), source.find("&", position)) if e >= 0), default=len(source)
            )
            add(source[position:end])
            position = end
        else:
            tag = _TAG.match(source, position)
            if tag is None:
                raise _broken(source, position)
            if tag[1]:
                _close(source, position, tag[2].lower(), opened, entities, units)
            else:
                opened.append((tag[2].lower(), _open(source, position, tag), units))
                opened[-1][1]["offset"] = units
            position = tag.end()
    if opened:
        raise _error(f'Can\'t find end tag corresponding to start tag "{opened[-1][0]}"')
    return "".join(text), sorted(entities, key=lambda e: (e["offset"], -e["length"]))


def _open(source: str, position: int, tag: re.Match[str]) -> Entity:
    name = tag[2].lower()
    if name not in TAGS:
        raise _error(f'Unsupported start tag "{name}" at byte offset {_bytes(source, position)}')
    given = {a[1].lower(): unescape(a[2] or a[3] or a[4] or "") for a in _ATTRIBUTE.finditer(tag[3])}
    if name == "span" and given.get("class") != "tg-spoiler":
        raise _error(f'Tag "span" must have class "tg-spoiler" at byte offset {_bytes(source, position)}')
    entity: Entity = {"type": TAGS[name], "offset": 0, "length": 0}
    if name == "a":
        entity["url"] = given.get("href", "")
    elif name == "code" and given.get("class", "").startswith("language-"):
        entity["language"] = given["class"].removeprefix("language-")
    elif name == "blockquote" and "expandable" in given:
        entity["type"] = "expandable_blockquote"
    return entity


def _close(
    source: str, position: int, name: str, opened: list[tuple[str, Entity, int]], entities: list[Entity], units: int
) -> None:
    at = _bytes(source, position)
    if not opened:
        raise _error(f"Unexpected end tag at byte offset {at}")
    expected, entity, start = opened.pop()
    if name != expected:
        raise _error(f'Unmatched end tag at byte offset {at}, expected "</{expected}>", found "</{name}>"')
    entity["length"] = units - start
    if expected == "pre" and entities and entities[-1]["type"] == "code" and "language" in entities[-1]:
        inner = entities[-1]
        if (inner["offset"], inner["length"]) == (start, entity["length"]):
            entities.pop()
            entity["language"] = inner["language"]
    if expected == "code":
        entity = entity if opened and opened[-1][0] == "pre" else {k: v for k, v in entity.items() if k != "language"}
    if entity["length"] and (entity["type"] != "text_link" or entity["url"]):
        entities.append(entity)


def _broken(source: str, position: int) -> ApiError:
    at = _bytes(source, position)
    rest = source[position + 1 :]
    if ">" not in rest:
        return _error(f"Unclosed {'end' if rest.startswith('/') else 'start'} tag at byte offset {at}")
    name = re.match(r"/?([^\s>/]*)", rest)
    return _error(f'Unsupported start tag "{name[1].lower() if name else ""}" at byte offset {at}')


def _error(text: str) -> ApiError:
    return bad_request(f"can't parse entities: {text}")


def _bytes(source: str, position: int) -> int:
    return len(source[:position].encode())
