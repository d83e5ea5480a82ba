"""Telegram's MarkdownV2: the text and its entities, or the server's own complaint. Offsets in errors are bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from channels.telegram.rehearsal.entities.links import checked
from channels.telegram.rehearsal.errors import ApiError, bad_request

RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
MARKS = {
    "```": "pre",
    "![": "custom_emoji",
    "__": "underline",
    "||": "spoiler",
    "_": "italic",
    "*": "bold",
    "~": "strikethrough",
    "`": "code",
    "[": "text_link",
}
"""What opens each entity, the longer mark first."""

ENDS = {**{kind: mark for mark, kind in MARKS.items()}, "text_link": "]", "custom_emoji": "]"}
NAMES = {
    "underline": "Underline",
    "spoiler": "Spoiler",
    "italic": "Italic",
    "bold": "Bold",
    "strikethrough": "Strikethrough",
    "text_link": "TextUrl",
    "code": "Code",
    "pre": "Pre",
    "custom_emoji": "CustomEmoji",
}

_LANGUAGE = re.compile(r"[^\s`]*")
_NEWLINE = re.compile(r"\r\n|\n\r|\n|\r")
_EMOJI = re.compile(r"tg:(?://)?emoji/?\?(?:[^#]*&)?id=([1-9]\d*)(?:[&#]|$)", re.IGNORECASE)

Entity = dict[str, Any]


@dataclass(slots=True)
class _Open:
    kind: str
    units: int
    at: int
    first: int
    language: str = ""

    @property
    def name(self) -> str:
        return "PreCode" if self.language else NAMES[self.kind]


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
        self._opened: list[_Open] = []
        self._quote: _Open | None = None
        self._line_start = True

    def run(self) -> tuple[str, list[Entity]]:
        while self._at < len(self._source):
            self._step()
        self._end_quote()
        if self._opened:
            raise self._unended(self._opened[-1])
        return "".join(self._text), sorted(self._entities, key=lambda e: (e["offset"], -e["length"]))

    def _step(self) -> None:
        source, at = self._source, self._at
        char = source[at]
        top = self._opened[-1].kind if self._opened else ""
        in_code = top in ("code", "pre")
        if char == "\\" and at + 1 < len(source) and 0 < ord(source[at + 1]) < 127:
            self._add(source[at + 1], 2)
        elif char not in ("`" if in_code else RESERVED):
            self._add(char, 1)
            if char == "\n" and not in_code and not source.startswith(">", at + 1):
                self._end_quote()
        elif top in ENDS and self._ends(top):
            self._close()
        elif char == ">" and self._line_start:
            self._begin_quote()
        elif top == "quote" and self._expands():
            self._opened[-1].language = "expandable"
            self._at += 2
        elif mark := next((m for m in MARKS if source.startswith(m, at)), None):
            self._open(mark)
        else:
            raise self._error(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")

    def _ends(self, kind: str) -> bool:
        """Whether the innermost entity ends here; two underscores never end italics."""
        if kind == "italic" and self._source.startswith("__", self._at):
            return False
        return self._source.startswith(ENDS[kind], self._at)

    def _open(self, mark: str) -> None:
        opened = _Open(MARKS[mark], self._units, self._at, len(self._text))
        self._opened.append(opened)
        self._at += len(mark)
        if opened.kind == "pre":
            found = _LANGUAGE.match(self._source, self._at)
            if found and found[0] and self._source[found.end() : found.end() + 1] not in ("", "`"):
                opened.language, self._at = found[0], found.end()
            if newline := _NEWLINE.match(self._source, self._at):
                self._at = newline.end()

    def _close(self) -> None:
        opened = self._opened.pop()
        self._at += len(ENDS[opened.kind])
        match opened.kind:
            case "text_link":
                said = "".join(self._text[opened.first :])
                address = self._address("a URL")
                url = checked(said if address is None else address)
                if url:
                    self._keep(opened, url=url)
            case "custom_emoji":
                address = self._address("a custom emoji URL")
                if address is None:
                    raise self._error("Custom emoji entity must contain a tg://emoji URL")
                found = _EMOJI.match(address)
                if found is None:
                    raise self._error("Custom emoji URL must have an emoji identifier")
                self._keep(opened, custom_emoji_id=found[1])
            case _:
                self._keep(opened, **({"language": opened.language} if opened.language else {}))

    def _address(self, what: str) -> str | None:
        """The address in parentheses after a link's text, or None without one."""
        if not self._source.startswith("(", self._at):
            return None
        self._at += 1
        begin = self._at
        address: list[str] = []
        while not self._source.startswith(")", self._at):
            if self._source.startswith("\\", self._at) and self._at + 1 < len(self._source):
                self._at += 1
            if self._at >= len(self._source):
                raise self._error(f"Can't find end of {what} at byte offset {self._bytes(begin)}")
            address.append(self._source[self._at])
            self._at += 1
        self._at += 1
        return "".join(address)

    def _begin_quote(self) -> None:
        if self._quote is None:
            self._quote = _Open("quote", self._units, self._at, len(self._text))
            self._opened.append(self._quote)
        self._line_start = False
        self._at += 1

    def _end_quote(self) -> None:
        if self._quote is None:
            return
        if self._opened[-1] is not self._quote:
            raise self._unended(self._opened[-1])
        opened, self._quote = self._opened.pop(), None
        opened.kind = "expandable_blockquote" if opened.language else "blockquote"
        self._keep(opened)

    def _expands(self) -> bool:
        """Whether a quote ends here with the mark that folds it."""
        rest = self._source[self._at :]
        return rest == "||" or (rest.startswith("||\n") and not rest.startswith("||\n>"))

    def _keep(self, opened: _Open, **extra: Any) -> None:
        if self._units > opened.units:
            length = self._units - opened.units
            self._entities.append({"type": opened.kind, "offset": opened.units, "length": length, **extra})

    def _add(self, piece: str, consumed: int) -> None:
        self._text.append(piece)
        self._units += len(piece.encode("utf-16-le")) // 2
        self._at += consumed
        self._line_start = piece == "\n"

    def _unended(self, opened: _Open) -> ApiError:
        return self._error(f"Can't find end of {opened.name} entity at byte offset {self._bytes(opened.at)}")

    def _bytes(self, position: int) -> int:
        return len(self._source[:position].encode())

    def _error(self, text: str) -> ApiError:
        return bad_request(f"can't parse entities: {text}")
