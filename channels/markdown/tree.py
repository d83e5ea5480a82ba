"""A model's Markdown as a small frozen tree. Inlines are flat: a span carries its styles, so none nest without end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text in one style. Line breaks, soft and hard, are newlines in `text`; code holds none.

    `url` is where the text leads, or empty. Neighbours with the same `url` are one link.
    """

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    url: str = ""


Spans: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of any level: no channel has more than bold for it."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Fenced or indented code without its last newline. `language` is one plain word, or empty."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation of blocks."""

    blocks: Blocks


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list. `marker` is its number as written ("3." or "3)"), empty for a bullet.

    `done` is a task's box, None where there is none. `continued` marks the rest of an item that a split cut: it has
    been introduced already and shows no marker again.
    """

    blocks: Blocks
    marker: str = ""
    done: bool | None = None
    continued: bool = False


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list. A tight one has no blank lines between its items."""

    items: tuple[Item, ...]
    tight: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table of inline cells; every row is as wide as `header`."""

    header: tuple[Spans, ...]
    rows: tuple[tuple[Spans, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""


Block: TypeAlias = Paragraph | Heading | CodeBlock | Quote | ListBlock | Table | Rule
Blocks: TypeAlias = tuple[Block, ...]


def rewrite(blocks: Blocks, spans: Callable[[Spans], Spans], table: Callable[[Table], Block]) -> Blocks:
    """The same tree with every run of inline text and every table put through the functions given."""

    def one(block: Block) -> Block:
        match block:
            case Paragraph() | Heading():
                return replace(block, spans=spans(block.spans))
            case Quote():
                return Quote(rewrite(block.blocks, spans, table))
            case ListBlock():
                items = tuple(replace(item, blocks=rewrite(item.blocks, spans, table)) for item in block.items)
                return replace(block, items=items)
            case Table():
                header = tuple(spans(cell) for cell in block.header)
                return table(Table(header, tuple(tuple(spans(cell) for cell in row) for row in block.rows)))
            case CodeBlock() | Rule():
                return block

    return tuple(one(block) for block in blocks)


def texts(blocks: Iterable[Block]) -> Iterator[str]:
    """Every text a reader should see, in order: markers, lines and link addresses aside."""
    for block in blocks:
        match block:
            case Paragraph() | Heading():
                yield "".join(span.text for span in block.spans)
            case CodeBlock():
                yield block.text
            case Quote():
                yield from texts(block.blocks)
            case ListBlock():
                for item in block.items:
                    yield from texts(item.blocks)
            case Table():
                for row in (block.header, *block.rows):
                    for cell in row:
                        yield "".join(span.text for span in cell)
            case Rule():
                pass
