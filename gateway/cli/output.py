"""How the command line speaks: tables for people, JSON for programs, errors with the next step."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from channels.errors import PostroomError
from gateway.logs import redact

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Row = Mapping[str, JsonValue]


def print_json(value: JsonValue | Row | Sequence[Row]) -> None:
    """Plain JSON on standard output, nothing else."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def listing(rows: Sequence[Row], *, as_json: bool, columns: Mapping[str, str], empty: str) -> None:
    """A list of rows: all of each row as JSON, or the named columns (key → heading) as a table."""
    if as_json:
        print_json(rows)
        return
    if not rows:
        out.print(empty)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in columns.values():
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(escape(_cell(row.get(key))) for key in columns))
    out.print(table)


def fail(error: PostroomError) -> None:
    """An expected error on standard error: what is wrong, and what to do next."""
    err.print(f"[bold red]error[/] [dim]({error.code})[/] {escape(redact(error.message))}")
    if error.fix:
        err.print(f"  [bold]→[/] {escape(redact(error.fix))}")


def _cell(value: JsonValue) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(_cell(v) for v in value) or "–"
        case dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
