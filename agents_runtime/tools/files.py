"""The file tools: read, write_file, edit_file, list_files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, Field

from agents_runtime.tools.confine import Place, read_bytes, readable, writable, write_atomically
from agents_runtime.tools.tool import Tool, ToolContext, ToolError

READ_MAX = 50_000
"""Characters one call reads at most; `offset` goes on from there."""

FILE_MAX = 1_000_000
"""Bytes of a file that is written or edited."""

LIST_MAX = 500


class ReadArguments(BaseModel):
    """Arguments of `read`."""

    path: str = Field(description="such as skills/NAME/SKILL.md or state/notes.json")
    offset: int = Field(default=0, ge=0, description="characters to skip")


class WriteArguments(BaseModel):
    """Arguments of `write_file`."""

    path: str = Field(description="a path under state/")
    content: str = Field(description="the whole file")


class EditArguments(BaseModel):
    """Arguments of `edit_file`."""

    path: str = Field(description="a path under state/")
    old: str = Field(min_length=1, description="text that stands in the file exactly once")
    new: str


class ListArguments(BaseModel):
    """Arguments of `list_files`."""

    path: str = Field(default="", description="a folder; all that the agent sees without it")


async def _read(context: ToolContext, arguments: ReadArguments) -> str:
    return await asyncio.to_thread(read_text, readable(context, arguments.path), arguments.offset)


async def _write(context: ToolContext, arguments: WriteArguments) -> str:
    place, content = writable(context, arguments.path), arguments.content.encode()
    _check(place, content)
    await asyncio.to_thread(write_atomically, place, content)
    return f"Wrote {len(content)} bytes to {arguments.path}."


async def _edit(context: ToolContext, arguments: EditArguments) -> str:
    return await asyncio.to_thread(_replace, writable(context, arguments.path), arguments)


async def _list(context: ToolContext, arguments: ListArguments) -> str:
    return await asyncio.to_thread(_listing, context, arguments.path)


def read_text(place: Place, offset: int) -> str:
    """A text file from a character on, with a last line that says how to go on. Raises ToolError."""
    text = _decode(place, read_bytes(place, FILE_MAX))
    shown = text[offset : offset + READ_MAX]
    left = len(text) - offset - len(shown)
    return shown if left <= 0 else f"{shown}\n[{left} more characters: read on with offset {offset + READ_MAX}]"


def _replace(place: Place, arguments: EditArguments) -> str:
    before = read_bytes(place, FILE_MAX)
    text = _decode(place, before)
    count = text.count(arguments.old)
    if count != 1:
        where = "nowhere" if count == 0 else f"{count} times"
        raise ToolError(
            f"The old text stands {where} in '{place.shown}'.", fix="Read the file, and name it exactly once."
        )
    content = text.replace(arguments.old, arguments.new).encode()
    _check(place, content)
    if read_bytes(place, FILE_MAX) != before:
        raise ToolError(f"'{place.shown}' changed meanwhile.", fix="Read it again, then edit.")
    write_atomically(place, content)
    return f"Edited {place.shown}."


def _check(place: Place, content: bytes) -> None:
    if len(content) > FILE_MAX:
        raise ToolError(
            f"'{place.shown}' would be larger than {FILE_MAX} bytes.", fix="Keep less, or use several files."
        )
    if place.real.suffix == ".json":
        try:
            json.loads(content)
        except ValueError as error:
            raise ToolError(f"'{place.shown}' would not be JSON: {error}.", fix="Write valid JSON.") from error


def _decode(place: Place, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ToolError(f"'{place.shown}' is not text.", fix="This tool reads text files only.") from error


def _listing(context: ToolContext, path: str) -> str:
    if path.strip("./") == "":
        tops = ["skills", "state", *(["inbox"] if context.inbox is not None else [])]
        places = [readable(context, top) for top in tops]
    else:
        places = [readable(context, path)]
        if not places[0].real.exists():
            raise ToolError(f"There is no folder '{path}'.", fix="list_files without a path shows everything.")
    lines: list[str] = []
    for line in (line for place in places for line in _walk(place)):
        if len(lines) == LIST_MAX:
            lines.append("[more files: list a folder by its path]")
            break
        lines.append(line)
    return "\n".join(lines) or "No files yet."


def _walk(place: Place) -> Iterator[str]:
    files = [place.real] if place.real.is_file() else sorted(place.real.rglob("*"))
    for file in files:
        if file.is_file() and not file.is_symlink() and not file.name.startswith(".writing-"):
            relative = file.relative_to(place.real)
            shown = place.shown.rstrip("/") + ("" if relative == Path() else f"/{relative.as_posix()}")
            yield f"{shown} ({file.stat().st_size} bytes)"


READ = Tool("read", "Read a text file.", ReadArguments, _read)
WRITE_FILE = Tool("write_file", "Write a whole file under state/.", WriteArguments, _write, side_effect=True)
EDIT_FILE = Tool("edit_file", "Replace text in a file under state/.", EditArguments, _edit, side_effect=True)
LIST_FILES = Tool("list_files", "List files with their sizes.", ListArguments, _list)
