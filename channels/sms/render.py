"""A reply as SMS: plain text, counted in segments, and kept in GSM-7 where the connection asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from channels.markdown.layout import Layout
from channels.markdown.measure import Segments, blank, segments, utf16_units
from channels.markdown.parse import parse
from channels.markdown.plain import PLAIN
from channels.markdown.split import split
from channels.markdown.tables import listed
from channels.markdown.tree import Blocks, rewrite

__all__ = ["DEFAULT_LIMIT", "RenderedPiece", "Segments", "render_text", "segments", "transliterated"]

DEFAULT_LIMIT = 1600
"""Characters Twilio takes in one body (error 21617); it sends them as as many segments as they need."""

_SEGMENT_MAX = 160
"""Characters of the longest single segment."""

_PLAIN_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000", " "),
        **dict.fromkeys("•‣◦", "-"),
        **dict.fromkeys("\u00ad\u200b\u2060\ufeff", ""),
        "…": "...",
    }
)


@dataclass(frozen=True, slots=True)
class RenderedPiece:
    """One SMS and what it costs."""

    text: str
    segments: Segments


def render_text(
    markdown: str, limit: int = DEFAULT_LIMIT, *, max_segments: int | None = None, transliterate: bool = False
) -> list[RenderedPiece]:
    """The messages that say this Markdown, in order; none for what has nothing to see.

    `limit` counts characters as UTF-16 units, `max_segments` bounds each message, and `transliterate` writes quotes,
    dashes, ellipses and spaces as GSM-7 has them. Raises ValueError for a limit below 16.
    """
    blocks = rewrite(parse(markdown), lambda spans: spans, listed)
    layout = Layout(PLAIN)

    def text(part: Blocks) -> str:
        return transliterated(layout.text(part)) if transliterate else layout.text(part)

    def fits(piece: str) -> bool:
        return utf16_units(piece) <= limit and (max_segments is None or segments(piece).count <= max_segments)

    most = limit if max_segments is None else min(limit, max_segments * _SEGMENT_MAX)
    return [RenderedPiece(piece, segments(piece)) for piece in split(blocks, text, fits, most) if not blank(piece)]


def transliterated(text: str) -> str:
    """Text with curly quotes, dashes, ellipses, bullets and odd spaces as plain ones; every other character stays."""
    return text.translate(_PLAIN_TYPOGRAPHY)
