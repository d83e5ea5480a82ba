"""The entities that Telegram finds by itself in what a person types."""

from __future__ import annotations

import re
from typing import Any

_PATTERNS = (
    ("bot_command", re.compile(r"(?<![\w/])/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?(?!\w)")),
    ("url", re.compile(r"\bhttps?://[^\s<>\"']+")),
    ("email", re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.]{2,}\b")),
    ("mention", re.compile(r"(?<![\w@])@[A-Za-z]\w{3,31}\b")),
    ("hashtag", re.compile(r"(?<!\w)#\w+")),
)


def detect(text: str) -> list[dict[str, Any]]:
    """Commands, links, addresses, mentions and hashtags, in order and without overlap; offsets in UTF-16 units."""
    taken: list[tuple[int, int, str]] = []
    for kind, pattern in _PATTERNS:
        for found in pattern.finditer(text):
            if all(found.end() <= start or found.start() >= end for start, end, _ in taken):
                taken.append((found.start(), found.end(), kind))
    return [
        {"type": kind, "offset": utf16(text[:start]), "length": utf16(text[start:end])}
        for start, end, kind in sorted(taken)
    ]


def utf16(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
