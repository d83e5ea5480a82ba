"""Tables where a channel has none: aligned columns for a monospaced block, or one plain line a row."""

from __future__ import annotations

from rich.cells import cell_len

from channels.markdown.links import spell_links
from channels.markdown.tree import Block, CodeBlock, Paragraph, Span, Spans, Table

COLUMN_MAX = 40
"""Widest column that is padded for; a longer cell runs over, so that one cell can't blow every row up."""


def aligned(table: Table) -> Block:
    """The table as monospaced text, its head underlined."""
    rows = [[_text(cell) for cell in row] for row in (table.header, *table.rows)]
    lengths = [[cell_len(cell) for cell in row] for row in rows]
    widths = [min(max(column), COLUMN_MAX) for column in zip(*lengths, strict=True)]
    lines = [
        "  ".join(
            cell + " " * (width - length) for cell, length, width in zip(row, row_lengths, widths, strict=True)
        ).rstrip()
        for row, row_lengths in zip(rows, lengths, strict=True)
    ]
    lines.insert(1, "  ".join("-" * max(width, 1) for width in widths))
    return CodeBlock("\n".join(lines).strip("\n"))


def listed(table: Table) -> Block:
    """One line a row, `first: second, third`: for channels whose letters differ in width."""
    lines = []
    for row in (table.header, *table.rows):
        first, *others = (_text(cell) for cell in row)
        rest = ", ".join(other for other in others if other)
        lines.append(f"{first}: {rest}" if first and rest else first or rest)
    return Paragraph((Span("\n".join(line for line in lines if line)),))


def _text(cell: Spans) -> str:
    return " ".join("".join(span.text for span in spell_links(cell)).split())
