"""Where an agent may read and write: the one place that turns an agent's path into a real file.

A path is walked folder by folder from a trusted root, each opened inside the one before and no link followed, so that
what is checked and what is used can't be two different things.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from agents_runtime.tools.tool import ToolContext, ToolError

LONGEST_PATH = 512
LONGEST_NAME = 200
"""Bytes; file systems stop at 255, and a name is written with a prefix first."""

UNFINISHED = ".writing-"
"""What the names of files begin with that are not wholly written yet, or never were."""

_SHOW = "list_files shows what there is."
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class FileMissing(ToolError):
    """There is no file there."""


class FileChanged(ToolError):
    """Somebody else wrote the file meanwhile."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file or a folder by the way to it: `parts` below a trusted `root`. `shown` is how the agent writes it."""

    shown: str
    root: Path
    parts: tuple[str, ...]


def readable(context: ToolContext, path: str) -> Place:
    """A path in `skills/`, `state/` or `inbox/`. Raises ToolError for anything else."""
    top, *below = parts = _parts(path)
    if top == "skills":
        return Place(path, context.agent.directory, tuple(parts))
    if top == "state":
        return Place(path, context.state_dir, tuple(below))
    if top == "inbox" and context.inbox is not None:
        return Place(path, context.inbox, tuple(below))
    raise ToolError(
        f"'{path}' is outside of what this agent sees.",
        fix=f"Paths begin with {', '.join(f'{name}/' for name in tops(context))}.",
    )


def place_in(root: Path, path: str) -> Place:
    """A path below a folder that is not an agent's own view. Raises ToolError for one that leads elsewhere."""
    return Place(path, root, tuple(_parts(path)))


def writable(context: ToolContext, path: str) -> Place:
    """A path in `state/` that the agent's `writes` allows. Raises ToolError for anything else."""
    top, *below = _parts(path)
    if top != "state" or not below:
        raise ToolError(f"'{path}' can't be written.", fix="Write files under state/.")
    allowed = context.agent.manifest.writes
    if allowed is not None and not any(matches(glob, "/".join(below)) for glob in allowed):
        raise ToolError(
            f"'{path}' is outside of this agent's write boundary.",
            fix=f"It may write: {', '.join(f'state/{g}' for g in allowed)}."
            if allowed
            else "This agent may write nothing.",
        )
    return Place(path, context.state_dir, tuple(below))


def sendable(path: str, *, state_dir: Path, inbox: Path | None) -> Place:
    """A file in `state/` or `inbox/` that an answer names. Raises ToolError for anything else."""
    top, *below = _parts(path)
    root = {"state": state_dir, "inbox": inbox}.get(top)
    if root is None or not below:
        raise ToolError(f"'{path}' can't be sent.", fix="Files under state/ and inbox/ can.")
    return Place(path, root, tuple(below))


def tops(context: ToolContext) -> list[str]:
    """The folders that the agent sees."""
    return ["skills", "state", *(["inbox"] if context.inbox is not None else [])]


def matches(glob: str, path: str) -> bool:
    """Whether a path fits a glob, both counted from `state/`.

    `*`, `?` and `[…]` stay inside one name, `**` stands for any number of folders, a trailing `/` for all below.
    """
    wanted, names = (f"{glob}**/*" if glob.endswith("/") else glob).split("/"), path.split("/")
    reached = {0}
    for part in wanted:
        if part == "**" and reached:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and fnmatchcase(names[at], part)}
    return len(names) in reached


@contextmanager
def opened(place: Place) -> Iterator[BinaryIO]:
    """The file, to be read. Raises ToolError."""
    with _told(place), _folder(place) as folder:
        if not place.parts:
            raise IsADirectoryError
        with _file(place, folder) as file:
            yield file


def walk(place: Place) -> Iterator[tuple[str, int]]:
    """The path and the size of each file in a folder, sorted; or of the one file it is. Raises ToolError."""
    if not place.root.exists():
        return  # an inbox is made with the first file that is received; a single file need not have a folder
    with _told(place), ExitStack() as stack:
        parent = stack.enter_context(_folder(place))
        name = place.parts[-1] if place.parts else "."
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        base = place.shown.rstrip("/")
        if stat.S_ISREG(found.st_mode):
            yield base, found.st_size
            return
        folder = _opened(stack, name, _FOLDER, dir_fd=parent)
        for inside, folders, files, descriptor in os.fwalk(".", dir_fd=folder):
            folders[:] = sorted(f for f in folders if f.isprintable())
            for file in sorted(f for f in files if f.isprintable() and not f.startswith(UNFINISHED)):
                with suppress(FileNotFoundError):  # taken away since
                    found = os.stat(file, dir_fd=descriptor, follow_symlinks=False)
                    if stat.S_ISREG(found.st_mode):
                        yield f"{base}{inside[1:]}/{file}", found.st_size


def write(place: Place, content: bytes) -> None:
    """Write the whole file, or nothing. Raises ToolError."""
    with _told(place), _folder(place, make=True) as folder, _locked(folder):
        _put(place, folder, content)


def create(place: Place, content: bytes) -> None:
    """Write a file that isn't there yet, whole or not at all. Raises ToolError; FileChanged where there is one."""
    with _told(place), _folder(place, make=True) as folder, _locked(folder):
        with suppress(FileNotFoundError):
            os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False)
            raise FileChanged(f"'{place.shown}' is there already.", fix="Read it, then write.")
        _put(place, folder, content)


def rewrite(place: Place, change: Callable[[bytes], bytes], limit: int) -> None:
    """Replace the file's content by what `change` makes of it, if it is still the same then. Raises ToolError.

    Nobody else who writes through here comes in between; a change by anyone else is noticed, and nothing is written.
    """
    with _told(place), _folder(place) as folder, _locked(folder):
        before = _read(place, folder, limit)
        content = change(before)
        if _read(place, folder, limit) != before:
            raise FileChanged(f"'{place.shown}' changed meanwhile.", fix="Read it again, then edit.")
        _put(place, folder, content)


def _parts(path: str) -> Sequence[str]:
    parts = path.removeprefix("./").removesuffix("/").split("/")
    odd = not path.isprintable() or "\\" in path or ":" in path or len(path) > LONGEST_PATH
    if odd or any(_is_odd(part) for part in parts):
        raise ToolError(f"{path[:80]!r} is not a path here.", fix="Use plain relative paths such as state/notes.json.")
    return parts


def _is_odd(name: str) -> bool:
    """Whether a name is none, leads elsewhere, or means another one on some file system."""
    return not name or name != name.strip() or name.endswith(".") or len(name.encode()) > LONGEST_NAME


@contextmanager
def _told(place: Place) -> Iterator[None]:
    """What the system refuses, as an error for the model."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileMissing(f"There is no file '{place.shown}'.", fix=_SHOW) from error
    except IsADirectoryError as error:
        raise ToolError(f"'{place.shown}' is a folder.", fix=_SHOW) from error
    except OSError as error:
        raise ToolError(
            f"'{place.shown}' can't be used: {error.strerror}. Links are not followed.", fix=_SHOW
        ) from error


@contextmanager
def _folder(place: Place, *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder that a place is in, or of the root that it is."""
    with ExitStack() as stack:
        if make:
            place.root.mkdir(parents=True, exist_ok=True)
        folder = _opened(stack, place.root, os.O_RDONLY | os.O_DIRECTORY)
        for name in place.parts[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            folder = _opened(stack, name, _FOLDER, dir_fd=folder)
        yield folder


def _opened(stack: ExitStack, path: str | Path, flags: int, *, dir_fd: int | None = None) -> int:
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    stack.callback(os.close, descriptor)
    return descriptor


@contextmanager
def _locked(folder: int) -> Iterator[None]:
    """Alone in a folder, among all tasks and processes. Released when the descriptor is closed."""
    with suppress(OSError):  # some network file systems have no locks: there a change is noticed most of the time
        fcntl.flock(folder, fcntl.LOCK_EX)
    yield


@contextmanager
def _file(place: Place, folder: int) -> Iterator[BinaryIO]:
    with ExitStack() as stack:
        descriptor = _opened(stack, place.parts[-1], _FILE, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ToolError(f"'{place.shown}' is not a file.", fix=_SHOW)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file


def _read(place: Place, folder: int, limit: int) -> bytes:
    with _file(place, folder) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ToolError(f"'{place.shown}' is larger than {limit} bytes.", fix="Write a new file instead.")
    return content


def _put(place: Place, folder: int, content: bytes) -> None:
    """Write beside the file, to disk, then move into its place."""
    name = place.parts[-1]
    with suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"'{place.shown}' is not a file.", fix=_SHOW)
    unfinished = f"{UNFINISHED}{secrets.token_hex(8)}"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(unfinished, dir_fd=folder)
        raise
    os.fsync(folder)
