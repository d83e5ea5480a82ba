"""The entities that Telegram finds by itself in a text."""

from __future__ import annotations

import re
from typing import Any

DOMAINS = "com|org|net|edu|gov|info|biz|io|dev|app|ai|co|me|tv|xyz|eu|de|nl|fr|es|it|uk|ru|ua|br|in|us"
"""Endings that make a bare host a link; Telegram knows them all, these are the frequent ones."""

_URL = rf"""(?<![\w@.])(?:(?:https?|ftp|tg|ton)://[^\s<>"']+|(?:[\w-]+\.)+(?:{DOMAINS})\b(?:[/?#][^\s<>"']*)?)"""
_PATTERNS = (
    ("bot_command", re.compile(r"(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])")),
    ("url", re.compile(_URL, re.IGNORECASE)),
    ("email", re.compile(r"(?<![\w.])[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}\b", re.IGNORECASE)),
    ("mention", re.compile(r"(?<![\w@])@[A-Za-z]\w{3,31}(?!\w)", re.ASCII)),
    ("hashtag", re.compile(r"(?<![\w#])#(?=\w*[^\W\d_])\w{1,256}(?![\w#])")),
    ("cashtag", re.compile(r"(?<![\w$])\$(?:1INCH|[A-Z]{1,8})(?![\w$])")),
)
_LIKELY = re.compile(r"[/@#$.]")
_TRAILING = ".,:;!?'\""
_CLOSERS = {")": "(", "]": "[", "}": "{"}


def detect(text: str) -> list[dict[str, Any]]:
    """Commands, links, addresses, mentions and tags, in order and without overlap; offsets in UTF-16 units."""
    if not _LIKELY.search(text):
        return []
    taken: list[tuple[int, int, str]] = []
    for kind, pattern in _PATTERNS:
        for found in pattern.finditer(text):
            start, end = found.start(), found.end()
            if kind == "url":
                end = start + len(_bare(found[0]))
                if text[end : end + 1] == "@":
                    continue
            if all(end <= begin or start >= stop for begin, stop, _ in taken):
                taken.append((start, end, kind))
    return [
        {"type": kind, "offset": utf16(text[:start]), "length": utf16(text[start:end])}
        for start, end, kind in sorted(taken)
    ]


def utf16(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _bare(url: str) -> str:
    """A link without what belongs to the sentence around it."""
    while True:
        opener = _CLOSERS.get(url[-1])
        if url[-1] not in _TRAILING and (opener is None or url.count(opener) >= url.count(url[-1])):
            return url
        url = url[:-1]
