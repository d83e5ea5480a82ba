"""A reply as Slack messages: one `markdown` block each, and an escaped `text` for notifications and search.

What is known of the block: it takes standard Markdown, at most 12,000 characters in one payload; it reads Slack's own
`<…>` tokens inside Markdown, so a bare `<!channel>` pings; `&lt;` is shown as `<` and not read again; a link's
address is not decoded. Headings, rules and tables would each become a block of their own, of which a message holds
50, so headings are bold lines, rules a line of dashes and tables monospaced text.

Safety does not rest on how Slack reads an escape: text never holds a bare `<`, `>` or `&`, addresses never hold `<`,
`>` or `|`, and code keeps its characters except where one would start a token.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from pydantic import JsonValue

from channels.markdown.layout import Dialect, Layout, Line, Lines
from channels.markdown.links import settle_links
from channels.markdown.marks import Mark, Style, nested, sound
from channels.markdown.measure import blank, utf16_units
from channels.markdown.parse import parse
from channels.markdown.places import cluster_prefix
from channels.markdown.plain import PLAIN
from channels.markdown.split import split
from channels.markdown.tables import aligned
from channels.markdown.tree import Blocks, CodeBlock, Span, Spans, rewrite

DEFAULT_LIMIT = 3900
"""Characters of the block: with a fallback of at most 4,000 the payload stays well under the 12,000 and 13,200
characters at which Slack was seen to refuse, and `chat.update`, which is tighter, takes it too."""

LIMIT_MAX = 8000
"""The most that leaves room for a full fallback in a payload of 12,000."""

TEXT_MAX = 4000
"""What Slack advises for `text`; longer, it may split the post in two."""

SCHEMES = frozenset({"http", "https", "mailto"})

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SPECIAL = re.compile(r"[\\`*_~\[\]&<>]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_TOKEN = re.compile(
    r"<(?=[@#]|!(?:channel|here|everyone|group|subteam|date)\b|(?:https?|mailto|tel|sms|ftp|slack):)", re.IGNORECASE
)
_ENTITY_IN_URL = re.compile(r"(&#?\w+);")
_LINE_START = re.compile(
    r"""\A(?:
          \#{1,6}(?=\s|$)               # a heading
        | [-+*](?=\s|$)                 # a bullet
        | \d{1,9}(?=[.)](?:\s|$))       # a number
        | (?:=+|-+)\s*$                 # the underline of a heading
        | ([-_*])\s*(?:\1\s*){2,}$       # a rule
        | [|:-][|:\s-]*$                # the second line of a table
        )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class RenderedPiece:
    """One message: `blocks` and `text` of a `chat.postMessage`. Send it without `link_names` or `parse`."""

    blocks: list[JsonValue]
    text: str


def render_text(markdown: str, limit: int = DEFAULT_LIMIT) -> list[RenderedPiece]:
    """The messages that say this Markdown, in order; none for what has nothing to see.

    `limit` counts the block's characters in UTF-16 units. Raises ValueError below 16 and above LIMIT_MAX.
    """
    if limit > LIMIT_MAX:
        raise ValueError(f"A limit of {limit} leaves no room for the fallback text; the most is {LIMIT_MAX}.")
    plain = Layout(PLAIN)
    return [
        RenderedPiece([{"type": "markdown", "text": text}], _fallback(plain.text(part)))
        for part, text in _pieces(markdown, limit)
        if not blank(text)
    ]


def _pieces(markdown: str, limit: int) -> list[tuple[Blocks, str]]:
    blocks = rewrite(parse(markdown), lambda spans: settle_links(spans, SCHEMES), aligned)
    layout = Layout(MARKDOWN)
    return split(blocks, lambda part: (part, layout.text(part)), lambda piece: utf16_units(piece[1]) <= limit, limit)


def _fallback(text: str) -> str:
    """Text with Slack's three control characters escaped, cut at TEXT_MAX with an ellipsis."""
    escaped = _escape_controls(text)
    if utf16_units(escaped) <= TEXT_MAX:
        return escaped
    kept = cluster_prefix(text, lambda head: utf16_units(_escape_controls(head)) < TEXT_MAX)
    return f"{_escape_controls(kept.rstrip())}…"


def _escape_controls(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(spans: Spans) -> str:
    parts = [
        (_marks(span), _inline_code(span.text) if span.code else _text(span.text))
        for span in sound(spans, _holds, _ends)
    ]
    # An exclamation mark right before a link would make an image of it.
    parts = [
        (marks, f"{text[:-1]}\\!" if text.endswith("!") and _opens_link(parts[at : at + 1]) else text)
        for at, (marks, text) in enumerate(parts, 1)
    ]
    return _LINE_START.sub(_escaped_start, nested(parts).strip(" \t"))


def _opens_link(follower: list[tuple[tuple[Mark, ...], str]]) -> bool:
    return any(mark[0] == "[" for marks, _ in follower for mark in marks)


def _escaped_start(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"


def _ends(span: Span) -> tuple[str, str]:
    if span.url:
        return "[", ")"
    return ("`", "`") if span.code else (span.text[0], span.text[-1])


def _holds(style: Style, before: str, first: str, last: str, after: str) -> bool:
    """CommonMark's rules for `**`, `~~` and `_`, whether or not a reader counts emoji as punctuation."""
    if style == "italic":
        return _edge(before) and _edge(after)
    return (_lettered(first) or _edge(before)) and (_lettered(last) or _edge(after))


def _lettered(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


def _edge(char: str) -> bool:
    return not char or char.isspace() or char in _PUNCTUATION


def _marks(span: Span) -> tuple[Mark, ...]:
    link = (("[", f"]({_address(span.url)})"),) if span.url else ()
    styles = ((span.bold, "**"), (span.italic, "_"), (span.strike, "~~"))
    return (*((mark, mark) for on, mark in styles if on), *link)


def _address(url: str) -> str:
    for char, code in (("<", "%3C"), (">", "%3E"), ("|", "%7C"), ("\\", "%5C"), (" ", "%20")):
        url = url.replace(char, code)
    if not _balanced(url):
        url = url.replace("(", "%28").replace(")", "%29")
    return _ENTITY_IN_URL.sub(r"\1%3B", url)


def _balanced(url: str) -> bool:
    depth = 0
    for char in url:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0


def _text(text: str) -> str:
    """Text with what could be markup escaped; at its ends everything is, since marks may touch them."""

    def escape(match: re.Match[str]) -> str:
        char, at = match[0], match.start()
        left, right = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
        match char:
            case "&" | "<" | ">":
                return _ENTITIES[char]
            case "_" if left.isalnum() and right.isalnum():
                return char
            case "*" | "_" | "~" if left.isspace() and right.isspace():
                return char
            case "\\" if right and right not in _PUNCTUATION:
                return char
        return f"\\{char}"

    return _SPECIAL.sub(escape, text)


def _inline_code(text: str) -> str:
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" or (text[0] == text[-1] == " " and text.strip()) else ""
    return f"{fence}{pad}{_TOKEN.sub('&lt;', text)}{pad}{fence}"


def _code(block: CodeBlock) -> Lines:
    fence = "`" * max(3, _longest_run(block.text) + 1)
    text = f"{fence}{block.language}\n{_TOKEN.sub('&lt;', block.text)}\n{fence}"
    return [Line(line) for line in text.split("\n")]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


MARKDOWN = Dialect(
    line=_line,
    code=_code,
    boxes=("- [ ] ", "- [x] "),
    line_end="  ",
    rule="———",
    empty="\u00a0",
    orphans=False,
)
