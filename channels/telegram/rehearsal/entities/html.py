"""Telegram's HTML: the text and its entities, or the server's own complaint. Offsets in errors are bytes."""

from __future__ import annotations

import re
from typing import Any

from channels.telegram.rehearsal.entities.links import checked
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
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
LONGEST_REFERENCE = 9
"""Characters of a character reference, without its semicolon."""

_REFERENCE = re.compile(r"&(?:#[xX]([0-9a-fA-F]+)|#([0-9]+)|([a-zA-Z]+))(;?)")
_PLAIN = re.compile(r"[^<&]+")
_SPACE = re.compile(r"\s*")
_TAG_NAME = re.compile(r"[^\s>]*")
_ATTRIBUTE_NAME = re.compile(r"[^\s=>/\"']*")
_TOKEN = re.compile(r"[a-zA-Z0-9.-]*")

Entity = dict[str, Any]


def parse(source: str) -> tuple[str, list[Entity]]:
    """Text and entities, offsets in UTF-16 units. Raises ApiError."""
    return _Parser(source).run()


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._text: list[str] = []
        self._units = 0
        self._entities: list[Entity] = []
        self._opened: list[tuple[str, Entity, int]] = []

    def run(self) -> tuple[str, list[Entity]]:
        source = self._source
        while self._at < len(source):
            if plain := _PLAIN.match(source, self._at):
                self._add(plain[0])
                self._at = plain.end()
            elif source[self._at] == "&":
                self._add(self._reference() or self._take("&"))
            elif source.startswith("</", self._at):
                self._close()
            else:
                self._open()
        if self._opened:
            raise _error(f'Can\'t find end tag corresponding to start tag "{self._opened[-1][0]}"')
        return "".join(self._text), sorted(self._entities, key=lambda e: (e["offset"], -e["length"]))

    def _open(self) -> None:
        begin = self._at
        name = self._match(_TAG_NAME, begin + 1).lower()
        if self._ended():
            raise self._complaint("Unclosed start tag", begin)
        if name not in TAGS:
            raise self._complaint(f'Unsupported start tag "{name}"', begin)
        given = self._attributes(name, begin)
        entity: Entity = {"type": TAGS[name], "offset": self._units}
        if name == "span" and given.get("class") != "tg-spoiler":
            raise self._complaint('Tag "span" must have class "tg-spoiler"', begin)
        if name == "a":
            entity["url"] = given.get("href", "")
        elif name == "tg-emoji":
            entity["custom_emoji_id"] = given.get("emoji-id", "")
        elif name == "code":
            entity["language"] = given.get("class", "").removeprefix("language-")
        elif name == "blockquote" and "expandable" in given:
            entity["type"] = "expandable_blockquote"
        self._opened.append((name, entity, len(self._text)))

    def _attributes(self, tag: str, begin: int) -> dict[str, str]:
        given: dict[str, str] = {}
        while True:
            self._match(_SPACE, self._at)
            if self._take(">"):
                return given
            name = self._match(_ATTRIBUTE_NAME, self._at)
            if not name:
                raise self._complaint(f'Empty attribute name in the tag "{tag}"', begin)
            self._match(_SPACE, self._at)
            given[name.lower()] = self._value(tag, begin) if self._take("=") else ""

    def _value(self, tag: str, begin: int) -> str:
        self._match(_SPACE, self._at)
        if self._ended():
            raise self._complaint(f'Unclosed start tag "{tag}"', begin)
        if quote := self._take('"') or self._take("'"):
            pieces: list[str] = []
            while not self._take(quote):
                if self._ended():
                    raise self._complaint("Unclosed start tag", begin)
                pieces.append(self._reference() or self._take(self._source[self._at]))
            value = "".join(pieces)
        else:
            start = self._at
            value = self._match(_TOKEN, start).lower()
            if not self._ended() and not self._source[self._at].isspace() and self._source[self._at] != ">":
                raise self._complaint("Unexpected end of name token", start)
        if self._ended():
            raise self._complaint("Unclosed start tag", begin)
        return value

    def _close(self) -> None:
        begin = self._at
        if not self._opened:
            raise self._complaint("Unexpected end tag", begin)
        name = self._match(_TAG_NAME, begin + 2).lower()
        self._match(_SPACE, self._at)
        if not self._take(">"):
            raise self._complaint("Unclosed end tag", begin)
        expected, entity, first = self._opened.pop()
        if name and name != expected:
            problem = (
                f'Unmatched end tag at byte offset {self._bytes(begin)}, expected "</{expected}>", found "</{name}>"'
            )
            raise _error(problem)
        entity["length"] = self._units - entity["offset"]
        if expected == "a":
            entity["url"] = checked(entity["url"] or "".join(self._text[first:]))
        elif expected == "pre":
            self._absorb(entity)
        elif expected == "code" and not (self._opened and self._opened[-1][0] == "pre"):
            del entity["language"]
        if entity["length"] and (expected != "a" or entity["url"]):
            self._entities.append(entity)

    def _absorb(self, pre: Entity) -> None:
        """A block of code holds no other entity; code that fills it tells the language."""
        start, end = pre["offset"], pre["offset"] + pre["length"]
        inner = [e for e in self._entities if e["offset"] >= start and e["offset"] + e["length"] <= end]
        for entity in inner:
            self._entities.remove(entity)
            if entity["type"] == "code" and entity["length"] == pre["length"] and entity.get("language"):
                pre["language"] = entity["language"]

    def _reference(self) -> str:
        """The character that a reference stands for, or nothing where it is no reference."""
        found = _REFERENCE.match(self._source, self._at)
        if found is None:
            return ""
        if found[3]:
            char = NAMED.get(found[3], "")
        else:
            number = int(found[1], 16) if found[1] else int(found[2])
            written = len(found[0]) - len(found[4])
            char = chr(number) if 0 < number < 0x10FFFF and written <= LONGEST_REFERENCE else ""
        if "\ud800" <= char <= "\udfff":
            raise _error(
                "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate"
                " code units"
            )
        if char:
            self._at = found.end()
        return char

    def _add(self, piece: str) -> None:
        self._text.append(piece)
        self._units += len(piece.encode("utf-16-le")) // 2

    def _match(self, pattern: re.Pattern[str], start: int) -> str:
        found = pattern.match(self._source, start)
        assert found is not None  # noqa: S101 - each of these patterns matches the empty string
        self._at = found.end()
        return found[0]

    def _take(self, char: str) -> str:
        if not self._source.startswith(char, self._at):
            return ""
        self._at += 1
        return char

    def _ended(self) -> bool:
        return self._at >= len(self._source)

    def _complaint(self, text: str, position: int) -> ApiError:
        return _error(f"{text} at byte offset {self._bytes(position)}")

    def _bytes(self, position: int) -> int:
        return len(self._source[:position].encode())


def _error(text: str) -> ApiError:
    return bad_request(f"can't parse entities: {text}")
