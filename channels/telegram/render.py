"""A reply as Telegram messages: its HTML, and the same text plain for when the server can't parse the entities.

Limits and rules from the Bot API's formatting options: 4096 characters after entity parsing, counted here in UTF-16
units, which is safe however the server counts; 100 entities; styles nest in each other but never around code; links
and code don't contain each other; quotes don't nest, so an inner one is shown with `>`.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from channels.markdown.layout import Dialect, Layout, Line, Lines, quoted
from channels.markdown.links import settle_links
from channels.markdown.marks import Mark, nested
from channels.markdown.measure import blank, utf8_bytes, utf16_units
from channels.markdown.parse import parse
from channels.markdown.plain import PLAIN
from channels.markdown.split import split
from channels.markdown.tables import aligned
from channels.markdown.tree import Blocks, CodeBlock, Span, Spans, rewrite

DEFAULT_LIMIT = 4096
ENTITIES_MAX = 100
HTML_BYTES_MAX = 32_768
"""The server refuses a longer text before it looks at the markup."""

SCHEMES = frozenset({"http", "https", "tg", "mailto"})

_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True)
class RenderedPiece:
    """One message. `plain` says the same without markup, link addresses written out."""

    html: str
    plain: str


def render_text(markdown: str, limit: int = DEFAULT_LIMIT) -> list[RenderedPiece]:
    """The messages that say this Markdown, in order; none for what has nothing to see.

    `limit` counts UTF-16 units and holds for `plain` and for the text of `html`. Raises ValueError below 16.
    """
    blocks = rewrite(parse(markdown), lambda spans: settle_links(spans, SCHEMES), aligned)
    html_layout, plain_layout = Layout(HTML), Layout(PLAIN)

    def piece(part: Blocks) -> RenderedPiece:
        return RenderedPiece(html_layout.text(part), plain_layout.text(part))

    pieces = split(blocks, piece, lambda piece: _fits(piece, limit), limit)
    return [piece for piece in pieces if not blank(_text(piece.html))]


def _fits(piece: RenderedPiece, limit: int) -> bool:
    return (
        utf16_units(piece.plain) <= limit
        and utf8_bytes(piece.html) <= HTML_BYTES_MAX
        # A code block is two tags and one entity.
        and piece.html.count("</") - piece.html.count("</code></pre>") <= ENTITIES_MAX
        and utf16_units(_text(piece.html)) <= limit
    )


def _text(markup: str) -> str:
    """What is left when the server has parsed the entities."""
    return html.unescape(_TAG.sub("", markup))


def _line(spans: Spans) -> str:
    return nested([(_marks(span), html.escape(span.text, quote=False)) for span in spans])


def _marks(span: Span) -> tuple[Mark, ...]:
    if span.code and not span.url:
        return (("<code>", "</code>"),)
    link = ((f'<a href="{html.escape(span.url)}">', "</a>"),) if span.url else ()
    styles = ((span.bold, "b"), (span.italic, "i"), (span.strike, "s"))
    return (*link, *((f"<{tag}>", f"</{tag}>") for on, tag in styles if on))


def _code(block: CodeBlock) -> Lines:
    start, end = "<pre>", "</pre>"
    if block.language:
        start, end = f'<pre><code class="language-{html.escape(block.language)}">', "</code></pre>"
    return [Line(line, flush=True) for line in f"{start}{html.escape(block.text, quote=False)}{end}".split("\n")]


def _quote(lines: Lines, depth: int) -> Lines:
    if depth:
        return [Line(line.text.replace(">", "&gt;", 1)) if not line.flush else line for line in quoted(lines, depth)]
    text = "\n".join(line.text for line in lines)
    return [Line(line, flush=True) for line in f"<blockquote>{text}</blockquote>".split("\n")]


HTML = Dialect(line=_line, code=_code, quote=_quote, bullet="• ", boxes=("☐ ", "☑ "), rule="———")
