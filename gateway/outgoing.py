"""Files that an answer names, as `![menu](state/menu.png)`: taken out of its text, and kept as they are now.

A link counts only where the Markdown parser sees one, so that an example in a code block stays what it is.
"""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from agents_runtime.tools.confine import Place, opened, sendable
from agents_runtime.tools.tool import ToolError
from channels.adapter import FileLimits
from channels.markdown.parse import parse
from channels.markdown.tree import Spans, rewrite
from channels.message import Attachment, AttachmentKind
from gateway.attachments import MAX_BYTES, Attachments

FILES_MAX = 10
"""Files of one answer at most; each is a message of its own on some channels."""

_LINK = re.compile(
    r"(?P<image>(?:(?<!\\)!)?)\[(?P<label>(?:[^\[\]\\\n]|\\.)*)\]"
    r"\((?:<(?P<quoted>[^<>\n]+)>|(?P<plain>[^\s()<>]+))(?:[ ]+\"[^\"\n]*\")?\)"
)

_KINDS: dict[str, AttachmentKind] = {
    "image/jpeg": "image",
    "image/png": "image",
    "image/webp": "image",
    "image/gif": "animation",
    "audio/mpeg": "audio",
    "audio/mp4": "audio",
    "audio/ogg": "voice",
    "video/mp4": "video",
}
"""What channels show in place; anything else is a document."""

_TEXTS = frozenset({"text/csv", "text/calendar", "text/vcard", "text/x-vcard"})
"""Kinds of text that only a file's name tells apart, and that nothing executes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it goes out: its text, its files, and what became of those that can't go, for the run's record."""

    text: str
    files: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()


async def attach(text: str, *, state_dir: Path, inbox: Path | None, store: Attachments, limits: FileLimits) -> Answer:
    """Take the files out of an answer. One that can't be sent leaves a line of text that says so."""
    text, paths = without_files(text)
    files: list[Attachment] = []
    left: list[tuple[str, str]] = []
    for number, path in enumerate(paths):
        name = PurePosixPath(path).name
        try:
            if number >= FILES_MAX:
                raise ToolError(f"an answer has {FILES_MAX} files at most.")
            file = await _kept(sendable(path, state_dir=state_dir, inbox=inbox), store)
        except ToolError as error:
            left.append((name, error.message))
            continue
        complaint = limits.complaint(file.media_type, file.size or 0)
        if complaint:
            left.append((name, f"{complaint}."))
        else:
            files.append(file)
    lines = [f"({_said(name)} could not be sent.)" for name, _ in left]
    return Answer(
        text="\n\n".join(part for part in (text, *lines) if part.strip()),
        files=tuple(files),
        notes=tuple(f"{name} was not sent: {complaint}" for name, complaint in left),
    )


def without_files(markdown: str) -> tuple[str, tuple[str, ...]]:
    """The text without its links to files, and their paths, each once, in order. Pure.

    A picture on a line of its own is gone; anything else leaves its label.
    """
    found = [match for match in _LINK.finditer(markdown) if _path(match).startswith(("state/", "inbox/"))]
    mark = "file"
    while mark in markdown:
        mark += "-"
    marked = _replaced(markdown, found, lambda n, match: f"{match['image']}[{match['label']}]({mark}{n})")
    linked = _targets(marked) if found else frozenset[str]()
    real = [match for number, match in enumerate(found) if f"{mark}{number}" in linked]
    text = _replaced(markdown, real, lambda _, match: "" if _alone(match) else match["label"])
    return text.strip("\n") if real else markdown, tuple(dict.fromkeys(_path(match) for match in real))


def _replaced(text: str, matches: Sequence[re.Match[str]], by: Callable[[int, re.Match[str]], str]) -> str:
    parts, end = list[str](), 0
    for number, match in enumerate(matches):
        parts += [text[end : match.start()], by(number, match)]
        end = match.end()
    return "".join([*parts, text[end:]])


def _path(match: re.Match[str]) -> str:
    return unquote(match["quoted"] or match["plain"]).removeprefix("./")


def _alone(match: re.Match[str]) -> bool:
    """Whether a picture has a line to itself."""
    before = match.string[: match.start()].rpartition("\n")[2]
    after = match.string[match.end() :].partition("\n")[0]
    return bool(match["image"]) and not before.strip() and not after.strip()


def _targets(markdown: str) -> frozenset[str]:
    """Where the links and pictures of a text lead."""
    targets: set[str] = set()

    def collect(spans: Spans) -> Spans:
        targets.update(span.url for span in spans)
        return spans

    rewrite(parse(markdown), collect, lambda table: table)
    return frozenset(targets)


async def _kept(place: Place, store: Attachments) -> Attachment:
    """The file as it is now, in the store. Raises ToolError."""
    content = await asyncio.to_thread(_read, place)
    kept = await store.keep(_once(content))
    name = place.parts[-1]
    by_name = mimetypes.guess_type(name)[0]
    media_type = by_name if by_name in _TEXTS and kept.media_type == "text/plain" else kept.media_type
    return Attachment(
        kind=_KINDS.get(media_type, "document"),
        media_type=media_type,
        size=kept.size,
        name=name,
        path=str(kept.path),
    )


def _read(place: Place) -> bytes:
    with opened(place) as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ToolError(f"it is larger than {MAX_BYTES / 1e6:g} MB.")
    if not content:
        raise ToolError("it is empty.")
    return content


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _said(name: str) -> str:
    """A file's name as words that mean nothing in Markdown."""
    return re.sub(r"[^\w. -]", "", name)[:60].strip() or "A file"
