"""The files inside one package: listed, read, and written by the same confined way that agents use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agents_runtime.invalid import AgentInvalid
from agents_runtime.state import OWN
from agents_runtime.tools.confine import FileChanged, FileMissing, Place, create, opened, place_in, rewrite
from agents_runtime.tools.tool import ToolError
from agents_runtime.tree import MANIFEST, SKILLS, read_text
from builder_skill.workspace.shelf import Changed
from channels.errors import PostroomError

README = "README.md"
STATE = "state"

TEXT_MAX = 200_000
"""Characters of a file that a tool writes."""

FILE_MAX = 1_000_000
"""Bytes of a file that a tool replaces; an agent writes none that is larger."""

DEPLOYED = (MANIFEST, README, SKILLS)
WHOLE = (*DEPLOYED, STATE)


class PathRefused(PostroomError):
    """The path is not one inside the package that may be written."""

    code = "path_refused"


def files_of(directory: Path, tops: tuple[str, ...] = WHOLE) -> Iterator[Path]:
    """The files of a package, sorted; links, hidden names and the live state of conversations are left out."""
    for top in tops:
        start = directory / top
        if start.is_file() and not start.is_symlink():
            yield start
        else:
            yield from _below(start, passed_over=OWN if top == STATE else ())


def texts(directory: Path, tops: tuple[str, ...] = WHOLE) -> dict[str, str]:
    """The text files of a package by path; what isn't text is left out."""
    found: dict[str, str] = {}
    for path in files_of(directory, tops):
        name = str(path.relative_to(directory))
        with suppress(AgentInvalid):
            found[name] = read_text(directory, name)
    return found


def writable(directory: Path, path: str) -> Place:
    """The place of a file that may be written. Raises PathRefused."""
    if path == MANIFEST:
        raise PathRefused("agent.json has a tool of its own.", fix="Use agent_update_manifest.")
    try:
        # From the folder of all packages on: a package that is a link is not followed either.
        place = place_in(directory.parent, f"{directory.name}/{path.removeprefix('./')}")
    except ToolError as error:
        raise PathRefused(
            f"{path[:80]!r} is not a path here.", fix="Use paths such as skills/NAME/SKILL.md or state/notes.json."
        ) from error
    parts = place.parts[1:]
    allowed = parts == (README,) or (len(parts) > 1 and parts[0] in {SKILLS, STATE})
    if not allowed or any(part.startswith(".") for part in parts) or path.endswith("/"):
        raise PathRefused(f"'{path}' is not a file of a package.", fix="Write under skills/ or state/, or README.md.")
    if parts[0] == STATE and parts[1] in OWN:
        raise PathRefused(f"state/{parts[1]}/ holds the live state of people.", fix="Write another path under state/.")
    return place


def manifest_place(directory: Path) -> Place:
    """Where `agent.json` is."""
    return Place(MANIFEST, directory.parent, (directory.name, MANIFEST))


def content_of(place: Place) -> bytes | None:
    """A file as it is, or None where there is none. Raises PathRefused."""
    try:
        with opened(place) as file:
            content = file.read(FILE_MAX + 1)
    except FileMissing:
        return None
    except ToolError as error:
        raise _refused(error) from error
    if len(content) > FILE_MAX:
        raise PathRefused(f"'{place.shown}' is larger than {FILE_MAX} bytes.", fix="Write another file.")
    return content


def put(place: Place, content: bytes, before: bytes | None) -> None:
    """Write a file whole, if it is still as it was, or still not there. Raises PathRefused or Changed."""

    def change(now: bytes) -> bytes:
        if now != before:
            raise FileChanged(f"'{place.shown}' changed meanwhile.")
        return content

    try:
        if before is None:
            create(place, content)
        else:
            rewrite(place, change, FILE_MAX)
    except (FileChanged, FileMissing) as error:
        raise Changed(error.message, fix="Read it again with agent_read, then write.") from error
    except ToolError as error:
        raise _refused(error) from error


def shown(content: bytes) -> str:
    """A file's bytes as text for a person, whatever they are."""
    return content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _refused(error: ToolError) -> PathRefused:
    return PathRefused(error.message, fix="Write a file under skills/ or state/, or README.md.")


def _below(folder: Path, passed_over: tuple[str, ...] = ()) -> Iterator[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return  # taken away since, or not ours to look into
    for path in paths:
        if path.is_symlink() or path.name.startswith(".") or path.name in passed_over:
            continue
        if path.is_dir():
            yield from _below(path)
        elif path.is_file():
            yield path
