"""The files a package is made of: `agent.json` and everything under `skills/`. No links, nothing hidden, no state."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents_runtime.invalid import AgentInvalid

MAX_TEXT = 500_000
"""Bytes of a manifest, a SKILL.md or what stands beside it; a larger one is a mistake."""

MAX_FILES = 1_000
"""Files under `skills/`: all of them are looked at before each turn."""

COARSE = 50_000_000
"""Nanoseconds within which two changes of a file can carry the same time, whatever the file system."""

MANIFEST = "agent.json"
DEFINITION = "agent.md"
SKILLS = "skills"

Stamp = tuple[int, int, int] | None
"""What changes when a file does: modification time, size, inode; None where there is no file."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What was there at one time. `files` are relative and sorted; `stamps` are by absolute path, folders included.

    `settled` False means that something had changed only just before: another change could carry the same stamp.
    """

    files: tuple[str, ...]
    stamps: tuple[tuple[str, Stamp], ...]
    settled: bool

    def unchanged(self) -> bool:
        """Whether everything is surely as it was: one stat each, and no folder is read."""
        return self.settled and all(stamp_of(path) == stamp for path, stamp in self.stamps)


def stamp_of(path: str) -> Stamp:
    """The stamp of a file or a folder, now."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before every turn, where Path costs more than the call itself
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def settled(stamp: Stamp) -> bool:
    """Whether what is read from now on belongs to this stamp for sure: its last change is not only just past."""
    return stamp is None or not 0 <= time.time_ns() - stamp[0] < COARSE


def survey(directory: Path, manifest: str = MANIFEST, skills: str = SKILLS) -> Tree:
    """Look at a package; the manifest and the skills' folder are counted from `directory`. Raises AgentInvalid.

    Names that begin with a dot don't count: editors leave those.
    """
    base = str(directory)
    if (directory / skills).is_symlink():
        raise _link(skills)
    files: list[str] = []
    # Stamps before contents: a file that is saved while it is being read looks changed afterwards.
    stamps = [(path, stamp_of(path)) for path in (f"{base}/{manifest}", f"{base}/{skills}")]
    for entry in _entries(f"{base}/{skills}"):
        relative = entry.path.removeprefix(f"{base}/")
        if entry.is_symlink():
            raise _link(relative)
        stamps.append((entry.path, stamp_of(entry.path)))
        if entry.is_file():
            files.append(relative)
        elif not entry.is_dir():
            raise AgentInvalid("neither a file nor a folder.", file=relative, fix="Take it out.")
        if len(files) > MAX_FILES:
            raise AgentInvalid(f"more than {MAX_FILES} files.", file=skills, fix="Keep data in state/.")
    return Tree((manifest, *sorted(files)), tuple(stamps), all(settled(stamp) for _, stamp in stamps))


def read_text(directory: Path, path: str) -> str:
    """A file of a package as text, a byte order mark left out. Raises AgentInvalid."""
    file = directory / path
    try:
        found = file.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise _link(path)
        if not stat.S_ISREG(found.st_mode):
            raise AgentInvalid("not a file.", file=path, fix="Put a file there.")
        if found.st_size > MAX_TEXT:
            raise AgentInvalid(f"larger than {MAX_TEXT} bytes.", file=path, fix="Split it.")
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise AgentInvalid("the file is missing.", file=path, fix="Add it.") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise AgentInvalid("not UTF-8 text.", file=path, line=line, fix="Save it as UTF-8.") from error
    except OSError as error:
        raise _unreadable(path, error) from error


def digest(directory: Path, tree: Tree) -> str:
    """What changes with any byte of a package's files and with any of their names. Raises AgentInvalid."""
    total = hashlib.sha256()
    for path in tree.files:
        try:
            with (directory / path).open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        except OSError as error:
            raise _unreadable(path, error) from error
        total.update(path.encode(errors="surrogateescape") + b"\0" + content)
    return total.hexdigest()


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = [entry for entry in found if not entry.name.startswith(".")]
    except OSError:
        return  # a package without skills/ is told so by what it names
    for entry in entries:
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path)


def _link(path: str) -> AgentInvalid:
    # Even one that stays inside: from skills/ into state/ it would let an agent rewrite itself.
    return AgentInvalid("a link, and links are not followed.", file=path, fix="Copy what it leads to in its place.")


def _unreadable(path: str, error: OSError) -> AgentInvalid:
    return AgentInvalid(f"can't be read: {error.strerror}.", file=path, fix="Check its permissions.")


def sync_folder(folder: Path) -> None:
    """Put a folder's names on disk: a file that was put in place is there after a crash once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
