"""Telegram's MarkdownV2: the text and its entities, or the server's own complaint. Offsets in errors are bytes."""

from __future__ import annotations

from typing import Any

from channels.telegram.rehearsal.errors import ApiError, bad_request

RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
MARKS = {"__": "underline", "||": "spoiler", "_": "italic", "*": "bold", "~": "strikethrough"}
NAMES = {
    "underline": "Underline",
    "spoiler": "Spoiler",
    "italic": "Italic",
    "bold": "Bold",
    "strikethrough": "Strikethrough",
    "text_link": "TextUrl",
    "code": "Code",
    "pre": "PreCode",
}

Entity = dict[str, Any]


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.text: list[str] = []
        self.units = 0
        self.entities: list[Entity] = []
        self.opened: list[tuple[str, int, int]] = []

    def run(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.source):
            self._step()
        if self.opened:
            kind, _, start = self.opened[-1]
            raise self._error(f"Can't find end of {NAMES[kind]} entity at byte offset {self._bytes(start)}")
        return "".join(self.text), sorted(self.entities, key=lambda e: (e["offset"], -e["length"]))

    def _step(self) -> None:
        source, at = self.source, self.at
        char = source[at]
        if char == "\\" and at + 1 < len(source) and 0 < ord(source[at + 1]) < 127:
            self._add(source[at + 1], 2)
        elif source.startswith("```", at):
            self._code("```", "pre")
        elif char == "`":
            self._code("`", "code")
        elif char == "[":
            self.opened.append(("text_link", self.units, at))
            self.at += 1
        elif char == "]" and self.opened and self.opened[-1][0] == "text_link":
            self._link()
        elif char == ">" and (at == 0 or source[at - 1] == "\n"):
            self.at += 1  # a quote's text is what a person reads
        elif mark := next((m for m in MARKS if source.startswith(m, at)), None):
            self._toggle(mark)
        elif char in RESERVED:
            raise self._error(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")
        else:
            self._add(char, 1)

    def _toggle(self, mark: str) -> None:
        kind = MARKS[mark]
        if self.opened and self.opened[-1][0] == kind:
            _, start, _ = self.opened.pop()
            self._close(kind, start)
        elif any(opened[0] == kind for opened in self.opened):
            outer, _, where = self.opened[-1]
            raise self._error(f"Can't find end of {NAMES[outer]} entity at byte offset {self._bytes(where)}")
        else:
            self.opened.append((kind, self.units, self.at))
        self.at += len(mark)

    def _code(self, fence: str, kind: str) -> None:
        begin = self.at
        end = begin + len(fence)
        content: list[str] = []
        while not self.source.startswith(fence, end):
            if end >= len(self.source):
                raise self._error(f"Can't find end of {NAMES[kind]} entity at byte offset {self._bytes(begin)}")
            if self.source[end] == "\\" and end + 1 < len(self.source):
                end += 1
            content.append(self.source[end])
            end += 1
        inner = "".join(content)
        extra: Entity = {}
        if kind == "pre":
            first, newline, rest = inner.partition("\n")
            if newline and first and " " not in first:
                inner, extra = rest, {"language": first}
            inner = inner.removeprefix("\n").removesuffix("\n")
        start = self.units
        self._add(inner, 0)
        self._close(kind, start, **extra)
        self.at = end + len(fence)

    def _link(self) -> None:
        _, start, begin = self.opened.pop()
        self.at += 1
        if self.at >= len(self.source) or self.source[self.at] != "(":
            return  # brackets without an address are no link
        end = self.at + 1
        url: list[str] = []
        while end < len(self.source) and self.source[end] != ")":
            if self.source[end] == "\\" and end + 1 < len(self.source):
                end += 1
            url.append(self.source[end])
            end += 1
        if end >= len(self.source):
            raise self._error(f"Can't find end of a URL at byte offset {self._bytes(begin)}")
        self.at = end + 1
        self._close("text_link", start, url="".join(url))

    def _add(self, piece: str, consumed: int) -> None:
        self.text.append(piece)
        self.units += len(piece.encode("utf-16-le")) // 2
        self.at += consumed

    def _close(self, kind: str, start: int, **extra: Any) -> None:
        if self.units > start:
            self.entities.append({"type": kind, "offset": start, "length": self.units - start, **extra})

    def _bytes(self, position: int) -> int:
        return len(self.source[:position].encode())

    def _error(self, text: str) -> ApiError:
        return bad_request(f"can't parse entities: {text}")


def parse(source: str) -> tuple[str, list[Entity]]:
    """Text and entities, offsets in UTF-16 units. Raises ApiError."""
    return _Parser(source).run()
