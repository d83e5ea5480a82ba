"""What Telegram makes of a text before it keeps it: cleaned, trimmed, its entities checked and found."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from channels.telegram.rehearsal.entities.detect import detect
from channels.telegram.rehearsal.errors import bad_request

Entity = dict[str, Any]

WHOLE = {"code", "pre", "text_link", "text_mention", "custom_emoji"}
"""Entities inside which no other is found."""

_CONTROL = dict.fromkeys([*range(10), 11, 12, *range(14, 32)], " ")
_REMOVED = dict.fromkeys([0x0D, *range(0x2028, 0x202F), 0x030A, 0x0333, 0x033F])
_CLEANED = {**_CONTROL, **_REMOVED}
_UNCLEAN = re.compile("[\x00-\x09\x0b-\x1f\u2028-\u202e\u030a\u0333\u033f]")
_SPACE = " \n"


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text and its entities, offsets in UTF-16 units."""

    text: str = ""
    entities: list[Entity] = field(default_factory=list[Entity])

    def as_fields(self, name: str) -> dict[str, Any]:
        """The fields of a message: `text` and `entities`, or `caption` and `caption_entities`; none when empty."""
        if not self.text:
            return {}
        marked = {"entities" if name == "text" else f"{name}_entities": self.entities} if self.entities else {}
        return {name: self.text, **marked}


def settle(text: str, entities: list[Entity]) -> Formatted:
    """The text as Telegram keeps it. Raises ApiError for an entity that isn't in the text."""
    if entities:
        text, entities = _moved(text, entities)
    else:
        text = _cleaned(text).strip(_SPACE)
    found = detect(text)
    if found:
        taken = [(e["offset"], e["offset"] + e["length"]) for e in entities if e["type"] in WHOLE]
        free = [e for e in found if all(e["offset"] >= b or e["offset"] + e["length"] <= a for a, b in taken)]
        entities = [*entities, *free]
    return Formatted(text, sorted(entities, key=lambda e: (e["offset"], -e["length"])))


def _moved(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """The cleaned and trimmed text, and where its entities are then; those of white space alone are dropped."""
    starts = _starts(text)
    spans = [(_index(text, starts, e, end=False), _index(text, starts, e, end=True), e) for e in entities]
    clean, kept = _cleaned(text), _kept(text)
    first = len(clean) - len(clean.lstrip(_SPACE))
    last = len(clean.rstrip(_SPACE))
    result = clean[first:last]
    units = _starts(result)
    moved: list[Entity] = []
    for begin, end, entity in spans:
        start, stop = max(kept[begin], first), min(kept[end], last)
        while start < stop and clean[start] in _SPACE:
            start += 1
        if clean[start:stop].strip(_SPACE):
            offset = units[start - first]
            moved.append({**entity, "offset": offset, "length": units[stop - first] - offset})
    return result, moved


def _cleaned(text: str) -> str:
    return text.translate(_CLEANED) if _UNCLEAN.search(text) else text


def _kept(text: str) -> Sequence[int]:
    """How many characters before each one stay when the text is cleaned."""
    if not _UNCLEAN.search(text):
        return range(len(text) + 1)
    return [0, *accumulate(ord(char) not in _REMOVED for char in text)]


def _starts(text: str) -> Sequence[int]:
    """Where each character starts, in UTF-16 units, and where the text ends."""
    if not text or max(text) <= "\uffff":
        return range(len(text) + 1)
    return [0, *accumulate(2 if char > "\uffff" else 1 for char in text)]


def _index(text: str, starts: Sequence[int], entity: Entity, *, end: bool) -> int:
    """The character at which an entity begins or ends. Raises ApiError in Telegram's words."""
    offset, length = entity["offset"], entity["length"]
    unit = offset + length if end else offset
    if offset > starts[-1]:
        raise bad_request(f"entity begins after the end of the text at UTF-16 offset {offset}")
    if unit > starts[-1]:
        raise bad_request(
            f"entity beginning at UTF-16 offset {offset} ends after the end of the text at UTF-16 offset {unit}"
        )
    at = bisect_right(starts, unit) - 1
    if starts[at] != unit:
        byte = len(text[: at + 1].encode())
        if end:
            raise bad_request(
                f"entity beginning at UTF-16 offset {offset} ends in a middle of a UTF-16 symbol at byte offset {byte}"
            )
        raise bad_request(f"entity begins in a middle of a UTF-16 symbol at byte offset {byte}")
    return at
