"""Plain text: no marks, addresses written out, and nothing that leaves GSM-7 on its own account."""

from __future__ import annotations

from channels.markdown.layout import Dialect, Line
from channels.markdown.links import spell_links
from channels.markdown.tree import CodeBlock, Spans


def _line(spans: Spans) -> str:
    return "".join(span.text for span in spell_links(spans))


def _code(block: CodeBlock) -> list[Line]:
    return [Line(line) for line in block.text.split("\n")]


PLAIN = Dialect(line=_line, code=_code, boxes=("[ ] ", "[x] "))
