"""Markdown to tree, once for every channel. Whatever a reader could miss is kept as text rather than dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.rules_block import StateBlock, reference, table
from markdown_it.rules_block.table import escapedSplit, getLine
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from channels.markdown.marks import cut
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

DEPTH = 20
"""Levels of quotes and lists that are honoured; what is deeper stays as text, with its markers."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAK = re.compile("\r\n?|[\x85\u2028\u2029]")
_BOX = re.compile(r"\[([ xX])\][ \t\n]")
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")
_ATTRIBUTES = re.compile(r"[{\[].*|[\w-]+=.*")
_SCHEME = re.compile(r"(?:^|[^a-zA-Z0-9])(?P<scheme>https?)$", re.IGNORECASE)
_BARE_URL = re.compile(r"https?://(?:(?!&(?:lt|gt|quot);|\*\*|~~)[^\s<>\[\]`\\\"])+", re.IGNORECASE)
_ENTITY_TAIL = re.compile(r"&\w+;$")
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[/#.]")


def parse(markdown: str) -> Blocks:
    """The tree of a reply. Raw HTML is text, images are links, control characters and lone surrogates are gone."""
    references = _References()
    tokens = _PARSER.parse(_clean(markdown), {"references": references})
    return _build(tokens, references)


def _clean(text: str) -> str:
    return _BREAK.sub("\n", _CONTROL.sub("", text))


class _References(dict[str, object]):
    """Link definitions that remember which of them a link used: the others are shown as they were written."""

    def __init__(self) -> None:
        super().__init__()
        self.used: set[str] = set()

    def get(self, key: str, default: object = None) -> object:
        if key in self:
            self.used.add(key)
        return super().get(key, default)


def _reference_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Link definitions, but only with something like an address: `[Ann]: hello` is speech, not a definition."""
    known: _References = state.env["references"]
    before = len(known)
    if not reference(state, start, end, silent):
        return False
    label = next(reversed(known)) if len(known) > before else ""
    lines = state.getLines(start, state.line, state.blkIndent, False).strip()
    if not _ADDRESS.match(lines.partition("]:")[2].strip().lstrip("<")):
        known.pop(label, None)
        state.line = start
        return False
    token = state.push("definition", "", 0)
    token.content, token.meta = lines, {"label": label}
    return True


def _table_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Tables, but none with a row wider than its head: the extra cells would vanish, so it stays as it was written."""
    tokens, level, parent = len(state.tokens), state.level, state.parentType
    if not table(state, start, end, silent):
        return False
    if silent:
        return True
    width = _cells(state, start)
    if all(_cells(state, line) <= width for line in range(start + 2, state.line)):
        return True
    del state.tokens[tokens:]
    state.line, state.level, state.parentType = start, level, parent
    return False


def _cells(state: StateBlock, line: int) -> int:
    cells = escapedSplit(getLine(state, line).strip())
    return len(cells) - (cells[:1] == [""]) - (len(cells) > 1 and cells[-1] == "")


def _depth_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Below the deepest level everything is a paragraph: the parser would drop it, and recursion has an end."""
    if silent or state.level < DEPTH:
        return False
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        line += 1
    state.push("paragraph_open", "p", 1)
    token = state.push("inline", "", 0)
    token.content, token.children = state.getLines(start, line, state.blkIndent, False).strip(), []
    state.push("paragraph_close", "p", -1)
    state.line = line
    return True


def _asterisk_rule(state: StateInline, silent: bool) -> bool:
    """Asterisks that multiply: `2*3*4` and `x**2` keep them, `**S**imple` and bold inside Chinese do not."""
    if silent or state.src[state.pos] != "*":
        return False
    end = state.pos
    while end < state.posMax and state.src[end] == "*":
        end += 1
    before, after = state.src[max(state.pos - 1, 0) : state.pos], state.src[end : end + 1]
    if not (before.isascii() and before.isalnum() and after.isascii() and after.isalnum()):
        return False
    if end - state.pos > 1 and not after.isdigit():
        return False
    state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _bare_url_rule(state: StateInline, silent: bool) -> bool:
    """A web address written as it is: a link, and nothing in it is markup, so `/_a_/` stays what it is."""
    if not state.src.startswith("://", state.pos):
        return False
    scheme = _SCHEME.search(state.src, max(0, state.pos - 6), state.pos)
    found = scheme and _BARE_URL.match(state.src, scheme.start("scheme"), state.posMax)
    if not scheme or not found:
        return False
    url = _without_tail(found[0])
    typed = scheme["scheme"]
    if len(url) <= len(typed) + 3 or (not silent and not state.pending.endswith(typed)):
        return False
    if not silent:
        state.pending = state.pending[: -len(typed)]
        shown = unescapeAll(url)
        if state.linkLevel:
            state.pending += shown
        else:
            state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(shown)}
            state.push("text", "", 0).content = shown
            state.push("link_close", "a", -1)
    state.pos += len(url) - len(typed)
    return True


def _without_tail(url: str) -> str:
    """An address without the punctuation of the sentence around it."""
    unopened = url.count(")") - url.count("(")
    end = len(url)
    while end:
        if url[end - 1] == ")" and unopened > 0:
            unopened -= 1
        elif url[end - 1] not in "*_~.,:;!?'":
            break
        entity = _ENTITY_TAIL.search(url, max(0, end - 10), end)
        end -= len(entity[0]) if entity else 1
    return url[:end]


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEPTH + 4})
    parser.enable(["strikethrough", "table"]).disable(["html_block", "html_inline"])
    rules = parser.block.ruler
    rules.at("table", _table_rule, {"alt": ["paragraph", "reference"]})
    rules.at("reference", _reference_rule)
    rules.before("table", "depth", _depth_rule)
    parser.inline.ruler.before("emphasis", "asterisk", _asterisk_rule)
    parser.inline.ruler.after("text", "bare_url", _bare_url_rule)
    # Each channel decides what may be a link: here every address is kept, so that a refused one can be shown.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005  # as the library documents
    return parser


_PARSER = _parser()


@dataclass(slots=True)
class _Frame:
    """A container that is still open: what it holds so far, and what its opening token said."""

    token: Token | None = None
    blocks: list[Block] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    rows: list[list[Spans]] = field(default_factory=list)
    tight: bool = True
    done: bool | None = None


def _build(tokens: Sequence[Token], references: _References) -> Blocks:
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
        case "table_open":
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
