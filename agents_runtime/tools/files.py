"""The file tools: read, write_file, edit_file, list_files."""

from __future__ import annotations

import asyncio
import codecs
from itertools import chain, islice

from pydantic import BaseModel, Field
from pydantic_core import from_json

from agents_runtime.tools.confine import Place, opened, readable, rewrite, tops, walk, writable, write
from agents_runtime.tools.tool import Tool, ToolContext, ToolError

READ_MAX = 48_000
"""Bytes one call reads at most. What a tool answers is cut at 50,000 characters, and the last line must survive it."""

FILE_MAX = 1_000_000
"""Bytes of a file that is written or edited."""

LIST_MAX = 500


class ReadArguments(BaseModel):
    """Arguments of `read`."""

    path: str = Field(description="such as skills/NAME/SKILL.md or state/notes.json")
    offset: int = Field(default=0, ge=0, description="bytes to skip")
    limit: int = Field(default=READ_MAX, ge=4, description="bytes to read")


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
    place = readable(context, arguments.path)
    return await asyncio.to_thread(_text, place, arguments.offset, min(arguments.limit, READ_MAX))


async def _write(context: ToolContext, arguments: WriteArguments) -> str:
    place = writable(context, arguments.path)
    content = _checked(place, arguments.content)
    await asyncio.to_thread(write, place, content)
    return f"Wrote {len(content)} bytes to {arguments.path}."


async def _edit(context: ToolContext, arguments: EditArguments) -> str:
    place = writable(context, arguments.path)

    def change(before: bytes) -> bytes:
        return _checked(place, _replaced(place, _decoded(place, before), arguments))

    await asyncio.to_thread(rewrite, place, change, FILE_MAX)
    return f"Edited {arguments.path}."


async def _list(context: ToolContext, arguments: ListArguments) -> str:
    return await asyncio.to_thread(_listing, context, arguments.path)


def _text(place: Place, offset: int, limit: int) -> str:
    """A text file from a byte on, in whole characters, with a last line that says how to go on."""
    with opened(place) as file:
        size = file.seek(0, 2)
        file.seek(offset)
        content = file.read(limit)
    if not content:
        return f"[nothing here: the file has {size} bytes]"
    end = offset + len(content)
    # An offset inside a character begins with the next one; a character cut off at the end is left for the next call.
    start = next((n for n, byte in enumerate(content[:4]) if byte & 0xC0 != 0x80), 0) if offset else 0
    decoder = codecs.getincrementaldecoder("utf-8")()
    text = _decoded(place, content[start:], decoder, final=end >= size)
    end -= len(decoder.getstate()[0])
    return text if end >= size else f"{text}\n[{size - end} more bytes: read on with offset {end}]"


def _replaced(place: Place, text: str, arguments: EditArguments) -> str:
    first = text.find(arguments.old)
    if first < 0:
        raise ToolError(f"The old text is not in '{place.shown}'.", fix="Read the file, and name it exactly.")
    if text.find(arguments.old, first + 1) >= 0:
        raise ToolError(
            f"The old text stands more than once in '{place.shown}'.", fix="Take in more of what is around it."
        )
    return text[:first] + arguments.new + text[first + len(arguments.old) :]


def _checked(place: Place, text: str) -> bytes:
    """The text as it is written, if it may be."""
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The text has half a character in it.", fix="Write whole characters.") from error
    if len(content) > FILE_MAX:
        raise ToolError(
            f"'{place.shown}' would be larger than {FILE_MAX} bytes.", fix="Keep less, or use several files."
        )
    if place.shown.lower().endswith(".json"):
        try:
            from_json(content, allow_inf_nan=False)
        except ValueError as error:
            raise ToolError(f"'{place.shown}' would not be JSON: {error}.", fix="Write valid JSON.") from error
    return content


def _decoded(
    place: Place, content: bytes, decoder: codecs.IncrementalDecoder | None = None, *, final: bool = True
) -> str:
    try:
        text = content.decode() if decoder is None else decoder.decode(content, final)
    except UnicodeDecodeError as error:
        raise _not_text(place) from error
    if "\0" in text:
        raise _not_text(place)
    return text


def _not_text(place: Place) -> ToolError:
    return ToolError(f"'{place.shown}' is not text.", fix="This tool reads text files in UTF-8 only.")


def _listing(context: ToolContext, path: str) -> str:
    wanted = tops(context) if path in {"", ".", "./"} else [path]
    found = chain.from_iterable(walk(readable(context, folder)) for folder in wanted)
    lines = [f"{shown} ({size} bytes)" for shown, size in islice(found, LIST_MAX + 1)]
    if len(lines) > LIST_MAX:
        lines[LIST_MAX:] = ["[more files: list a folder by its path]"]
    return "\n".join(lines) or "No files yet."


READ = Tool("read", "Read a text file.", ReadArguments, _read, touches_state=True)
WRITE_FILE = Tool(
    "write_file", "Write a whole file under state/.", WriteArguments, _write, side_effect=True, touches_state=True
)
EDIT_FILE = Tool(
    "edit_file", "Replace text in a file under state/.", EditArguments, _edit, side_effect=True, touches_state=True
)
LIST_FILES = Tool("list_files", "List files with their sizes.", ListArguments, _list, touches_state=True)
