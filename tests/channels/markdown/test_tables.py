"""Tables as text."""

from __future__ import annotations

from channels.markdown.parse import parse
from channels.markdown.tables import COLUMN_MAX, aligned, listed
from channels.markdown.tree import CodeBlock, Paragraph, Span, Table

SOURCE = "| Name | 数 | Where |\n|---|:-:|---|\n| **Ann** | 1 | [map](https://e.x) |\n| 👩‍👩‍👧‍👦 | 20 |"


def table(markdown: str) -> Table:
    (only,) = parse(markdown)
    assert isinstance(only, Table)
    return only


def test_columns_line_up_in_cells_of_a_terminal() -> None:
    assert aligned(table(SOURCE)) == CodeBlock(
        "Name  数  Where\n----  --  -----------------\nAnn   1   map (https://e.x)\n👩‍👩‍👧‍👦    20"
    )


def test_one_long_cell_does_not_widen_every_row() -> None:
    block = aligned(table(f"|a|b|\n|-|-|\n|{'x' * 500}|y|\n|z|w|"))
    assert isinstance(block, CodeBlock)
    assert block.text.split("\n")[1:] == ["-" * COLUMN_MAX + "  -", "x" * 500 + "  y", "z" + " " * COLUMN_MAX + " w"]


def test_rows_as_lines() -> None:
    assert listed(table(SOURCE)) == Paragraph((Span("Name: 数, Where\nAnn: 1, map (https://e.x)\n👩‍👩‍👧‍👦: 20"),))


def test_a_table_without_anything_in_it_is_nothing() -> None:
    assert parse("| |\n|-|\n| |") == ()
