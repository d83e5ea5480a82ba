"""A reply as WhatsApp messages in WhatsApp's own markup.

WhatsApp has no escape character, so a character that would turn into markup is replaced by its look-alike: `*` by the
asterisk operator, `_` by a low macron, `~` by the tilde operator, a backtick by a modifier grave. Words stay as they
are, and nothing invisible is put into them. It happens only where two such characters could pair up on a line, so
`2*3*4`, `5 * 3` and `snake_case_names` are left alone. Code is never touched, except that three backticks inside it
would end it, and a web address gets its percent-encoding, which leads to the same place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from channels.markdown.layout import Dialect, Layout, Line, Lines
from channels.markdown.links import spell_links
from channels.markdown.marks import Mark, Style, nested, sound
from channels.markdown.measure import blank, utf16_units
from channels.markdown.parse import parse
from channels.markdown.split import split
from channels.markdown.tables import aligned
from channels.markdown.tree import CodeBlock, Span, Spans, rewrite

DEFAULT_LIMIT = 1600
"""Characters Twilio takes in one body (error 21617)."""

LOOK_ALIKES = {"*": "∗", "_": "ˍ", "~": "∼", "`": "ˋ"}

# The parser removes control characters, so these can stand for our own marks until the line is done.
_OWN = {"\x01": "*", "\x02": "_", "\x03": "~", "\x04": "`"}
_OWN_MARKS = {mark: own for own, mark in _OWN.items()}
_OWN_TO_MARK = str.maketrans(_OWN)

_CODE = re.compile("(\x04+)[^\x04]*\\1")
_URL = re.compile("[a-zA-Z][a-zA-Z0-9+.-]*://[^\\s\x01-\x04]+")


@dataclass(frozen=True, slots=True)
class RenderedPiece:
    """One message's body."""

    text: str


def render_text(markdown: str, limit: int = DEFAULT_LIMIT) -> list[RenderedPiece]:
    """The messages that say this Markdown, in order; none for what has nothing to see.

    `limit` counts characters as UTF-16 units. Raises ValueError below 16.
    """
    blocks = rewrite(parse(markdown), lambda spans: spans, aligned)
    layout = Layout(WHATSAPP)
    pieces = split(blocks, layout.text, lambda text: utf16_units(text) <= limit, limit)
    return [RenderedPiece(text) for text in pieces if not blank(text)]


def _line(spans: Spans) -> str:
    unstyled_code = tuple(
        Span(span.text, code=True, url=span.url) if span.code else span for span in spell_links(spans)
    )
    parts = [
        (_marks(span), _inline_code(span.text) if span.code else span.text)
        for span in sound(unstyled_code, _holds, _ends)
    ]
    return _guarded(nested(parts).strip(" \t")).translate(_OWN_TO_MARK)


def _ends(span: Span) -> tuple[str, str]:
    return ("`", "`") if span.code else (span.text[0], span.text[-1])


def _holds(_style: Style, before: str, _first: str, _last: str, after: str) -> bool:
    """Marks are read only with no letter or digit against their outer side."""
    return not before.isalnum() and not after.isalnum()


def _inline_code(text: str) -> str:
    """Code as it can stand between backticks: none at its ends, and no three of them within."""
    return text.replace("`", LOOK_ALIKES["`"]) if text[0] == "`" or text[-1] == "`" else _fenceable(text)


def _marks(span: Span) -> tuple[Mark, ...]:
    if span.code:
        tick = "\x04" if "`" not in _inline_code(span.text) else "\x04" * 3
        return ((tick, tick),)
    styles = ((span.bold, "*"), (span.italic, "_"), (span.strike, "~"))
    return tuple((_OWN_MARKS[mark], _OWN_MARKS[mark]) for on, mark in styles if on)


def _guarded(line: str) -> str:
    """A line, our own marks still as stand-ins, with every other character disarmed that could pair up."""
    if line.startswith("> "):
        line = f"＞{line[1:]}"
    if not any(mark in line for mark in LOOK_ALIKES):
        return line
    code = [match.span() for match in _CODE.finditer(line)]
    urls = [match.span() for match in _URL.finditer(line)]
    chars = list(line)
    for mark, own in _OWN_MARKS.items():
        places = [at for at, char in enumerate(line) if char == mark and not _inside(at, code)]
        for at in _risky(line, mark, places, own in line):
            chars[at] = f"%{ord(mark):02X}" if _inside(at, urls) else LOOK_ALIKES[mark]
    return "".join(chars)


def _risky(line: str, mark: str, places: list[int], marked: bool) -> list[int]:
    """The places where a mark could open or close, if any two on the line could pair, or one with a mark of ours."""
    if mark == "`":
        return places if marked or len(places) > 1 else []
    opening = [at for at in places if not _word(line[max(at - 1, 0) : at]) and line[at + 1 : at + 2].strip()]
    closing = [at for at in places if line[max(at - 1, 0) : at].strip() and not _word(line[at + 1 : at + 2])]
    if not marked and not (opening and closing and opening[0] < closing[-1]):
        return []
    return sorted({*opening, *closing})


def _word(char: str) -> bool:
    # Only ASCII is sure to count as a word character in every client.
    return char.isascii() and char.isalnum()


def _inside(at: int, stretches: list[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in stretches)


def _code(block: CodeBlock) -> Lines:
    text = f"```\n{_fenceable(block.text)}\n```"
    return [Line(line, flush=True) for line in text.split("\n")]


def _fenceable(code: str) -> str:
    return code.replace("```", LOOK_ALIKES["`"] * 3)


WHATSAPP = Dialect(line=_line, code=_code, boxes=("☐ ", "☑ "), rule="———")
