"""The Markdown parser: CommonMark with tables and strikethrough, and no rule under which written text disappears."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.rules_block import StateBlock, reference, table
from markdown_it.rules_block.table import escapedSplit, getLine
from markdown_it.rules_inline import StateInline

DEPTH = 20
"""Levels of quotes and lists that are honoured; what is deeper stays as text, with its markers."""

_SCHEME = re.compile(r"(?:^|[^a-zA-Z0-9])(?P<scheme>https?)$", re.IGNORECASE)
_BARE_URL = re.compile(r"https?://(?:(?!&(?:lt|gt|quot);|\*\*|~~)[^\s<>\[\]`\\\"])+", re.IGNORECASE)
_ENTITY_TAIL = re.compile(r"&\w+;$")
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[/#.]")


class References(dict[str, object]):
    """Link definitions that remember which of them a link used: the others are shown as they were written."""

    def __init__(self) -> None:
        super().__init__()
        self.used: set[str] = set()

    def get(self, key: str, default: object = None) -> object:
        """The definition, noted as used."""
        if key in self:
            self.used.add(key)
        return super().get(key, default)


def _reference_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Link definitions, but only with something like an address: `[Ann]: hello` is speech, not a definition."""
    known: References = state.env["references"]
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


def markdown_parser() -> MarkdownIt:
    """A parser to be made once and reused. Its environment needs `references`: `References()`, new for each parse."""
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
