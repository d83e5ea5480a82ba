"""Markdown with YAML frontmatter, split and read forgivingly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

FENCE = "---"


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file: its frontmatter, and the text after it. `body_line` is where that text begins, from 1."""

    fields: dict[str, Any]
    body: str
    body_line: int


class FrontmatterError(ValueError):
    """The YAML is broken. `line` counts from 1 in the whole file."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def split(text: str) -> Document:
    """Read a file's text. A file without frontmatter is all body. Raises FrontmatterError."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        return Document({}, "\n".join(lines).strip(), 1)
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise FrontmatterError("the frontmatter has no closing ---", len(lines))
    try:
        fields = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "the frontmatter is not YAML"
        raise FrontmatterError(str(problem), 2 + (mark.line if mark is not None else 0)) from error
    if fields is None:
        fields = {}
    if not isinstance(fields, dict):
        raise FrontmatterError("the frontmatter is not a list of fields", 2)
    return Document({str(k): v for k, v in fields.items()}, "\n".join(lines[end + 1 :]).strip(), end + 2)
