"""How providers count text: UTF-16 units, bytes, SMS segments. Each code point counts one or more in every measure."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

import smsutil


def utf16_units(text: str) -> int:
    """Length in UTF-16 units, as Telegram's offsets and JavaScript count it; never less than the characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Length in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Segments:
    """What an SMS costs. `units` are septets in GSM-7 and 16-bit units in UCS-2."""

    encoding: Literal["GSM-7", "UCS-2"]
    count: int
    units: int


def segments(text: str) -> Segments:
    """How an SMS is cut on the air: 160 or 153 septets in GSM-7, 70 or 67 units in UCS-2.

    Extension characters such as `€` and `[` take two septets and, like surrogate pairs, are never parted, so a
    segment can end one unit early.
    """
    if not text:
        return Segments("GSM-7", 0, 0)
    split = smsutil.split(text)
    if split.encoding == "gsm0338":
        return Segments("GSM-7", len(split.parts), split.total_bytes)
    return Segments("UCS-2", len(split.parts), split.total_bytes // 2)


def blank(text: str) -> bool:
    """Whether there is nothing to see: only white space and characters without a form, which providers refuse."""
    return all(char.isspace() or unicodedata.category(char) == "Cf" for char in text)
