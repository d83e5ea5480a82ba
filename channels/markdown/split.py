"""Cutting a tree into pieces that each fit a channel. Rendered text is never cut, so every piece is whole markup.

A cut falls between blocks where it can, else after a line or a sentence, else after a word, else between grapheme
clusters. Quotes, lists, code fences and links that a cut runs through are closed and opened again in the next piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Generic, TypeAlias, TypeVar, cast

from channels.markdown.links import link_runs, spell_links
from channels.markdown.marks import cut
from channels.markdown.places import CLUSTER, SPACES, Search, nicest, outside
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
    rewrite,
    texts,
)

LIMIT_MIN = 16
"""The smallest limit taken: any one character fits into it in any channel, however it is escaped."""

P = TypeVar("P")
Node: TypeAlias = Block | Item
Nodes: TypeAlias = tuple[Node, ...]
Fits: TypeAlias = Callable[[Nodes], bool]


def split(blocks: Blocks, render: Callable[[Blocks], P], fits: Callable[[P], bool], limit: int) -> list[P]:
    """The blocks as rendered pieces that fit, in order and as few as the preferred cuts allow.

    `limit` is the most code points a piece could hold: it only bounds the search, `fits` decides. A piece that does
    not fit comes out only where a single code point doesn't. Raises ValueError for a limit below LIMIT_MIN.
    """
    if limit < LIMIT_MIN:
        raise ValueError(f"A limit of {limit} is too small to cut text for; the least is {LIMIT_MIN}.")
    press = _Press(render, fits)
    cutter = _Cutter(limit)
    pieces: list[P] = []
    rest = blocks
    while rest:
        head, tail = cutter.take(rest, press.fits_blocks, press.fits_blocks)
        if not head:
            head, tail = cutter.force(rest, press.fits_blocks)
        if head:
            pieces.append(press.piece(cast("Blocks", head)))
        rest = cast("Blocks", tail)
    return pieces


class _Press(Generic[P]):
    """Renders, and remembers the last piece that fitted so that it isn't rendered twice."""

    def __init__(self, render: Callable[[Blocks], P], fits: Callable[[P], bool]) -> None:
        self._render = render
        self._fits = fits
        self._last: tuple[Nodes, P] | None = None

    def fits_blocks(self, nodes: Nodes) -> bool:
        piece = self._render(cast("Blocks", nodes))
        if self._fits(piece):
            self._last = nodes, piece
            return True
        return False

    def piece(self, blocks: Blocks) -> P:
        if self._last is not None and self._last[0] is blocks:
            return self._last[1]
        return self._render(blocks)


class _Cutter:
    """Takes a piece's worth off the front. `most` bounds its code points, so that no step looks at the whole rest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._nodes = Search()
        self._places = Search()

    def take(self, nodes: Nodes, fits: Fits, alone: Fits) -> tuple[Nodes, Nodes]:
        """What goes into this piece, and the rest; nothing of it where not even the start of the first node fits.

        `fits` asks about nodes after what the piece holds already, `alone` about nodes in a piece of their own.
        """
        count = self._count(nodes, fits)
        if count == len(nodes):
            return nodes, ()
        kept = count
        while kept and isinstance(nodes[kept - 1], Heading):
            kept -= 1  # a heading goes with what it heads
        if kept and self._count(nodes[count : count + 1], alone):
            return nodes[:kept], nodes[kept:]
        before = nodes[:count]
        part, left = self._cut(nodes[count], lambda node: fits((*before, node)), lambda node: alone((node,)))
        if part is None:
            kept = kept or count
            return nodes[:kept], nodes[kept:]
        after = nodes[count + 1 :]
        return (*before, part), after if left is None else (left, *after)

    def force(self, nodes: Nodes, fits: Fits) -> tuple[Nodes, Nodes]:
        """Take from a node of which nothing fits: as bare text, and if its first cluster is too large, inside that."""
        spelled = rewrite(cast("Blocks", nodes[:1]), spell_links, _never)
        text = "\n".join(texts(spelled)).strip()
        if not text:
            return (), nodes[1:]
        flat = Paragraph((Span(text),))
        head, tail = self.take((flat,), fits, fits)
        if not head:
            ends = range(1, min(len(text), self._most) + 1)
            at = self._places.last(ends, lambda end: fits((Paragraph((Span(text[:end]),)),))) or 1
            head = (Paragraph((Span(text[:at]),)),)
            tail = (Paragraph((Span(text[at:]),)),) if text[at:] else ()
        return head, (*tail, *nodes[1:])

    def _count(self, nodes: Nodes, fits: Fits) -> int:
        """How many leading nodes fit whole."""
        total = bound = 0
        while bound < len(nodes) and (total := total + _size(nodes[bound], self._most - total)) <= self._most:
            bound += 1
        return self._nodes.last(range(1, bound + 1), lambda end: fits(nodes[:end]))

    def _cut(
        self, node: Node, fits: Callable[[Node], bool], alone: Callable[[Node], bool]
    ) -> tuple[Node | None, Node | None]:
        """The part of a node that fits, None where nothing does, and what is left of it."""
        match node:
            case Paragraph() | Heading():
                return self._cut_prose(node, fits, alone)
            case CodeBlock():
                return self._cut_code(node, fits, alone)
            case Quote():

                def quote(nodes: Nodes) -> Quote:
                    return Quote(cast("Blocks", nodes))

                head, tail = self.take(node.blocks, lambda part: fits(quote(part)), lambda part: alone(quote(part)))
                return quote(head) if head else None, quote(tail) if tail else None
            case ListBlock():

                def listed(nodes: Nodes) -> ListBlock:
                    return replace(node, items=cast("tuple[Item, ...]", nodes))

                head, tail = self.take(node.items, lambda part: fits(listed(part)), lambda part: alone(listed(part)))
                return listed(head) if head else None, listed(tail) if tail else None
            case Item():

                def item(nodes: Nodes) -> Item:
                    return replace(node, blocks=cast("Blocks", nodes))

                head, tail = self.take(node.blocks, lambda part: fits(item(part)), lambda part: alone(item(part)))
                left = replace(item(tail), done=None, continued=True) if tail else None
                return item(head) if head else None, left
            case Table() | Rule():
                return None, node

    def _cut_prose(
        self, node: Paragraph | Heading, fits: Callable[[Node], bool], alone: Callable[[Node], bool]
    ) -> tuple[Node | None, Node | None]:
        front, back = _front(node.spans, self._most)
        text = "".join(span.text for span in front)

        def head(end: int) -> Paragraph | Heading:
            return replace(node, spans=cut(front, len(text[:end].rstrip(" \t\n")))[0])

        wholes = list(_wholes(front))
        at = self._position(text, wholes, lambda end: fits(head(end)), lambda end: alone(head(end)), prose=True)
        if not at:
            return None, node
        start = at
        while (match := CLUSTER.match(text, start)) and match[0] in SPACES:
            start = match.end()
        left = (*cut(front, start)[1], *back)
        return head(at), replace(node, spans=left) if left else None

    def _cut_code(
        self, node: CodeBlock, fits: Callable[[Node], bool], alone: Callable[[Node], bool]
    ) -> tuple[Node | None, Node | None]:
        def head(end: int) -> CodeBlock:
            return replace(node, text=node.text[:end].rstrip())

        at = self._position(node.text, [], lambda end: fits(head(end)), lambda end: alone(head(end)), prose=False)
        if not at:
            return None, node
        # Only a line's own start is indentation worth keeping.
        left = node.text[at:].lstrip("\n" if node.text[at - 1] == "\n" else None)
        return head(at), replace(node, text=left) if left else None

    def _position(
        self,
        text: str,
        wholes: list[tuple[int, int]],
        fits: Callable[[int], bool],
        alone: Callable[[int], bool],
        *,
        prose: bool,
    ) -> int:
        """The best end of a head that fits, or 0. Not inside `wholes` unless one starts the text and fits nowhere."""
        window = min(len(text), self._most + 1)
        # The last cluster is dropped: it is the text's end, or it may go on beyond the window.
        ends = [match.end() for match in CLUSTER.finditer(text, 0, window)][:-1]
        if wholes and wholes[0][0] == 0 and (wholes[0][1] > window or not alone(wholes[0][1])):
            wholes = wholes[1:]
        ends = list(outside(ends, wholes))
        last = self._places.last(ends, fits)
        if not last:
            return 0
        best = nicest(text, [at for at in ends if at <= last], prose=prose)
        # A first word, or line of code, is not cut only because the piece is nearly full.
        first = next((at for at in ends if text[at - 1] in (SPACES if prose else "\n")), len(text))
        return 0 if best < first <= self._most and alone(first) else best


def _wholes(spans: Spans) -> Iterator[tuple[int, int]]:
    """Where links and code spans lie in the joined text: what a cut goes around while it can."""
    at = 0
    for url, run in link_runs(spans):
        start = at
        for span in run:
            if span.code and not url:
                yield at, at + len(span.text)
            at += len(span.text)
        if url:
            yield start, at


def _front(spans: Spans, most: int) -> tuple[Spans, Spans]:
    """The leading spans that hold just more than `most` characters, and the others."""
    total = 0
    for index, span in enumerate(spans):
        if total > most:
            return spans[:index], spans[index:]
        total += len(span.text)
    return spans, ()


def _size(node: Node, cap: int) -> int:
    """The least code points a node takes, counted no further than just beyond `cap`."""
    match node:
        case Paragraph() | Heading():
            parts: Iterable[int] = (len(span.text) for span in node.spans)
        case Quote() | Item():
            parts = (_size(block, cap) for block in node.blocks)
        case ListBlock():
            parts = (_size(item, cap) for item in node.items)
        case CodeBlock():
            parts = (len(node.text),)
        case Table() | Rule():
            parts = ()
    total = 0
    for part in parts:
        total += part
        if total > cap:
            break
    return max(total, 1)


def _never(_: Table) -> Block:
    raise TypeError("A table is turned into text before it is split.")
