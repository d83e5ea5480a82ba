"""Markdown with YAML frontmatter, split and read forgivingly."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml
from pydantic import JsonValue

FENCE = "---"

_PLAIN = re.compile(r"""([A-Za-z][\w-]*):[ \t]+([^\s"'\[{|>&*!#].*)""")
"""A top-level field whose value is written without quotes."""

_LIST = re.compile(r"([A-Za-z][\w-]*):[ \t]+\[([^\[\]{}]*)\][ \t]*(?:#.*)?")
"""A top-level list in brackets; a plain `name?` in one is more than this YAML reader takes."""

QUOTES = ("'", '"')


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file: its frontmatter, and the text after it. Every scalar is text, as it was written."""

    fields: dict[str, JsonValue]
    body: str


class FrontmatterError(ValueError):
    """The YAML is broken. `line` counts from 1 in the whole file."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def split(text: str) -> Document:
    """Read a file's text. A file without frontmatter is all body. Raises FrontmatterError."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    start = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if lines[start].rstrip() != FENCE:
        return Document({}, "\n".join(lines).strip())
    end = next((n for n, line in enumerate(lines[start + 1 :], start + 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise FrontmatterError("the frontmatter has no closing ---", len(lines))
    fields = _fields(lines[start + 1 : end], first=start + 2)
    return Document(fields, "\n".join(lines[end + 1 :]).strip())


def _fields(lines: list[str], first: int) -> dict[str, JsonValue]:
    try:
        fields = _parsed("\n".join(lines))
    except yaml.YAMLError as error:
        try:
            # A description with a colon in it, not quoted, is the commonest mistake: other readers let it pass.
            fields = _parsed("\n".join(_quoted(line) for line in lines))
        except yaml.YAMLError:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or "the frontmatter is not YAML"
            raise FrontmatterError(str(problem), first + (mark.line if mark is not None else 0)) from error
    except RecursionError as error:
        raise FrontmatterError("the frontmatter is nested too deep", first) from error
    if not fields:
        return {}
    if not isinstance(fields, dict):
        raise FrontmatterError("the frontmatter is not a list of fields", first)
    return fields


def _parsed(text: str) -> JsonValue:
    # The base loader makes text of every scalar: no dates, no booleans, and nothing that can be made to run.
    parsed: JsonValue = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    return parsed


def _quoted(line: str) -> str:
    listed = _LIST.fullmatch(line)
    if listed is not None:
        items = (item.strip() for item in listed[2].split(","))
        return f"{listed[1]}: [{', '.join(item if item[:1] in QUOTES else _in_quotes(item) for item in items if item)}]"
    plain = _PLAIN.fullmatch(line)
    return line if plain is None else f"{plain[1]}: {_in_quotes(plain[2].rstrip())}"


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
