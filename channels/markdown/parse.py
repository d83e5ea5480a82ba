"""Markdown to tree, once for every channel. Whatever a reader could miss is kept as text rather than dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from channels.markdown.marks import cut
from channels.markdown.rules import References, markdown_parser
from channels.markdown.tree import (
    Block,
    Blocks,
    CodeBlock,
    Heading,
    Item,
    ListBlock,
    Paragraph,
    Quote,
    Rule,
    Span,
    Spans,
    Table,
)

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAK = re.compile("\r\n?|[\x85\u2028\u2029]")
_BOX = re.compile(r"\[([ xX])\][ \t\n]")
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")
_ATTRIBUTES = re.compile(r"[{\[].*|[\w-]+=.*")

_PARSER = markdown_parser()


def parse(markdown: str) -> Blocks:
    """The tree of a reply. Raw HTML is text, images are links, control characters and lone surrogates are gone."""
    references = References()
    tokens = _PARSER.parse(_clean(markdown), {"references": references})
    return _build(tokens, references)


def _clean(text: str) -> str:
    return _BREAK.sub("\n", _CONTROL.sub("", text))


@dataclass(slots=True)
class _Frame:
    """A container that is still open: what it holds so far, and what its opening token said."""

    token: Token | None = None
    blocks: list[Block] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    rows: list[list[Spans]] = field(default_factory=list)
    tight: bool = True
    done: bool | None = None


def _build(tokens: Sequence[Token], references: References) -> Blocks:
    frames = [_Frame()]
    # Tokens come as open, inline, close: what an inline is for is known from the token before it.
    opener = ""
    for token in tokens:
        frame = frames[-1]
        match token.type:
            case "blockquote_open" | "bullet_list_open" | "ordered_list_open" | "list_item_open" | "table_open":
                frames.append(_Frame(token))
            case "paragraph_open":
                # The parser hides the paragraphs of a tight list; an item's frame tells its list.
                frame.tight = frame.tight and token.hidden
            case "tr_open":
                frame.rows.append([])
            case "inline":
                spans = _spans(token.children or [])
                if opener == "paragraph_open" and frame.token and frame.token.type == "list_item_open":
                    spans = _boxed(frame, token, spans)
                if opener in ("th_open", "td_open"):
                    frame.rows[-1].append(spans)
                elif any(span.text.strip() for span in spans):
                    frame.blocks.append(Heading(spans) if opener == "heading_open" else Paragraph(spans))
            case "fence" | "code_block":
                frame.blocks.extend(_code(token))
            case "hr":
                frame.blocks.append(Rule())
            case "definition" if token.meta["label"] not in references.used:
                frame.blocks.append(Paragraph((Span(token.content),)))
            case "blockquote_close" | "bullet_list_close" | "ordered_list_close" | "list_item_close" | "table_close":
                frames.pop()
                _close(frame, frames[-1])
        opener = token.type
    return tuple(frames[0].blocks)


def _boxed(item: _Frame, paragraph: Token, spans: Spans) -> Spans:
    """The spans without the box that makes an item a task; the source tells a box from an escaped one."""
    box = _BOX.match(paragraph.content)
    if item.blocks or item.done is not None or not box or spans[0].url:
        return spans
    item.done = box[1] != " "
    return cut(spans, box.end())[1]


def _close(frame: _Frame, parent: _Frame) -> None:
    assert frame.token is not None  # noqa: S101  # only the outermost frame has none, and nothing closes it
    blocks = tuple(frame.blocks)
    match frame.token.type:
        case "blockquote_open" if blocks:
            parent.blocks.append(Quote(blocks))
        case "list_item_open":
            marker = f"{frame.token.info}{frame.token.markup}" if frame.token.info else ""
            parent.items.append(Item(blocks, marker, frame.done))
            parent.tight = parent.tight and frame.tight
        case "bullet_list_open" | "ordered_list_open":
            parent.blocks.append(ListBlock(tuple(frame.items), frame.tight))
        case "table_open" if any(cell for row in frame.rows for cell in row):
            header, *rows = (tuple(row) for row in frame.rows)
            parent.blocks.append(Table(header, tuple(rows)))


def _code(token: Token) -> Iterator[Block]:
    text, language = _clean(token.content).strip("\n"), ""
    info = _clean(token.info).strip()
    first, _, rest = info.partition(" ")
    if _LANGUAGE.fullmatch(first) and (not rest or _ATTRIBUTES.fullmatch(rest.strip())):
        language = first
    elif info and not _ATTRIBUTES.fullmatch(info):
        # Somebody's words behind the backticks, not a language: they belong to what is read.
        text = f"{info}\n{text}"
    if text.strip():
        yield CodeBlock(text, language)


def _spans(tokens: Sequence[Token]) -> Spans:
    spans: list[Span] = []
    bold = italic = strike = 0
    url = ""
    for token in tokens:
        match token.type:
            case "text" | "code_inline":
                code = token.type == "code_inline"
                _add(spans, Span(_clean(token.content), bold > 0, italic > 0, strike > 0, code, url))
            case "softbreak" | "hardbreak":
                _add(spans, Span("\n", bold > 0, italic > 0, strike > 0, False, url))
            case "strong_open" | "strong_close":
                bold += token.nesting
            case "em_open" | "em_close":
                italic += token.nesting
            case "s_open" | "s_close":
                strike += token.nesting
            case "link_open":
                url, start = str(token.attrs.get("href", "")), len(spans)
            case "link_close":
                # A link without text would be invisible: its address stands in.
                if url and not any(span.text.strip() for span in spans[start:]):
                    spans.append(Span(url, url=url))
                url = ""
            case "image":
                target = url or str(token.attrs.get("src", ""))
                shown = _spans(token.children or []) or (Span(target),)
                for span in shown:
                    _add(spans, Span(span.text, bold > 0, italic > 0, strike > 0, span.code, target))
    return tuple(spans)


def _add(spans: list[Span], span: Span) -> None:
    """Append, joining it to a last span of the same style so that runs stay whole."""
    last = spans[-1] if spans else None
    if last and (last.bold, last.italic, last.strike, last.code, last.url) == (
        span.bold,
        span.italic,
        span.strike,
        span.code,
        span.url,
    ):
        spans[-1] = Span(last.text + span.text, span.bold, span.italic, span.strike, span.code, span.url)
    elif span.text:
        spans.append(span)
