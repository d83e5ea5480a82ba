"""Blocks laid out as lines, once for every channel: what differs between channels is a dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from channels.markdown.marks import lines
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
    Spans,
    Table,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a piece. A flush one stands at the left edge whatever list or quote it is in."""

    text: str
    flush: bool = False


Lines: TypeAlias = list[Line]


def quoted(lines_: Lines, depth: int) -> Lines:  # noqa: ARG001  # the depth matters to channels that can't nest
    """Lines with `> ` before them."""
    return [line if line.flush else Line(f"> {line.text}" if line.text else ">") for line in lines_]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a channel writes. `line` gets one line of text, `quote` the quoted lines and how many quotes are around it.

    `boxes` introduce an open and a done task, `line_end` goes before a line break inside a paragraph, `empty` stands in
    an item without text. `orphans` says whether lines may be indented with no item above them, as after a split; where
    that means code they move to the edge instead.
    """

    line: Callable[[Spans], str]
    code: Callable[[CodeBlock], Lines]
    quote: Callable[[Lines, int], Lines] = quoted
    bullet: str = "- "
    boxes: tuple[str, str] = ("[ ] ", "[x] ")
    line_end: str = ""
    rule: str = "---"
    empty: str = ""
    orphans: bool = True


class Layout:
    """Lays blocks out in a dialect, and remembers the lines of each node: a split asks for the same ones many times.

    Made for one tree and thrown away with it.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        # By identity, since hashing a tree costs as much as laying it out; holding the node keeps its id its own.
        self._known: dict[tuple[int, int, bool], tuple[Block | Item, Lines]] = {}
        # A paragraph that is being cut is a new node at each try, but most of its lines are the same.
        self._known_lines: dict[Spans, str] = {}

    def text(self, blocks: Blocks) -> str:
        """The blocks as text."""
        return "\n".join(line.text for line in self._stack(blocks, 0, tight=False))

    def _stack(self, blocks: Blocks, depth: int, *, tight: bool) -> Lines:
        found: Lines = []
        for index, block in enumerate(blocks):
            if index and not (tight and _belongs(block, blocks[index - 1])):
                found.append(Line(""))
            found.extend(self._remembered(block, depth, tight=tight))
        return found

    def _remembered(self, node: Block | Item, depth: int, *, tight: bool) -> Lines:
        key = id(node), depth, tight
        if key not in self._known:
            found = self._item(node, depth, tight=tight) if isinstance(node, Item) else self._block(node, depth)
            self._known[key] = node, found
        return self._known[key][1]

    def _block(self, block: Block, depth: int) -> Lines:
        dialect = self._dialect
        match block:
            case Paragraph():
                return self._prose(block.spans)
            case Heading():
                return self._prose(tuple(replace(span, bold=True) for span in block.spans))
            case CodeBlock():
                return dialect.code(block)
            case Quote():
                return dialect.quote(self._stack(block.blocks, depth + 1, tight=False), depth)
            case ListBlock():
                return self._list(block, depth)
            case Rule():
                return [Line(dialect.rule)]
            case Table():
                raise TypeError("A table is turned into text before it is laid out.")

    def _prose(self, spans: Spans) -> Lines:
        parts = lines(spans)
        if len(parts) == 1:
            return [Line(self._dialect.line(spans))]
        for part in parts:
            if part not in self._known_lines:
                self._known_lines[part] = self._dialect.line(part)
        *others, last = (self._known_lines[part] for part in parts)
        return [*(Line(line + self._dialect.line_end) for line in others), Line(last)]

    def _list(self, block: ListBlock, depth: int) -> Lines:
        found: Lines = []
        after_orphan = False
        for item in block.items:
            if found and (after_orphan or not block.tight):
                found.append(Line(""))
            found.extend(self._remembered(item, depth, tight=block.tight))
            after_orphan = item.continued and not self._dialect.orphans
        return found

    def _item(self, item: Item, depth: int, *, tight: bool) -> Lines:
        dialect = self._dialect
        lead = f"{item.marker} " if item.marker else dialect.bullet
        body = self._stack(item.blocks, depth, tight=tight)
        if item.continued:
            return _indented(body, " " * len(lead)) if dialect.orphans else body
        shown = lead
        if item.done is not None:
            box = dialect.boxes[item.done]
            # A box that brings its own bullet or replaces it stands alone, except after a number.
            shown = f"{lead}{box.removeprefix(dialect.bullet)}" if item.marker else box
        if not body or body[0].flush:
            body.insert(0, Line(dialect.empty if not body else ""))
        first = Line(f"{shown}{body[0].text}" if body[0].text else shown.rstrip(" "))
        return [first, *_indented(body[1:], " " * len(lead))]


def _belongs(block: Block, to: Block) -> bool:
    """Whether a block in a tight item follows its text without a blank line."""
    return isinstance(to, Paragraph) and isinstance(block, ListBlock | CodeBlock | Quote)


def _indented(body: Lines, by: str) -> Lines:
    return [line if line.flush or not line.text else Line(by + line.text) for line in body]
