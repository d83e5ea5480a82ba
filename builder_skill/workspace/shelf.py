"""The user's packages on disk: found, put in place whole, and moved to the trash and back. Links are never followed."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from agents_runtime.invalid import AgentInvalid
from agents_runtime.manifest import is_identifier
from agents_runtime.registry import AgentMissing
from agents_runtime.tree import MANIFEST, digest, survey, sync_folder
from builder_skill.desk import Desk
from channels.errors import PostroomError

UNFINISHED = ".making-"
"""What the names of folders begin with that are not a package yet; discovery passes them over."""

ABANDONED = 3_600
"""Seconds after which an unfinished folder was left by a process that is gone."""


class NotYours(PostroomError):
    """The agent is there, and not the user's own package to change."""

    code = "agent_not_yours"


class AgentExists(PostroomError):
    """The id is taken."""

    code = "agent_exists"


class Changed(PostroomError):
    """The package is not what the caller last saw."""

    code = "revision_stale"


class NotWritten(PostroomError):
    """The disk does not take it: full, read-only, or not ours to write."""

    code = "not_written"


def owned(desk: Desk, agent_id: str) -> Path:
    """The folder of a package of the user's own. Raises AgentMissing or NotYours."""
    directory = desk.agents_dir / agent_id
    if is_identifier(agent_id) and not directory.is_symlink() and (directory / MANIFEST).is_file():
        return directory
    entry = next((e for e in desk.registry.entries() if e.id == agent_id), None)
    if entry is None:
        desk.registry.get(agent_id)
        raise AgentMissing(f"There is no agent '{agent_id}'.", fix="`postroom agent list` shows what there is.")
    if entry.source == "user":
        raise NotYours(
            f"'{agent_id}' is one Markdown file, and the tools work on folders.",
            fix=f"Make it one: postroom agent import {desk.agents_dir / agent_id}.md",
        )
    raise NotYours(
        f"'{agent_id}' comes from {entry.source}, and can't be changed here.", fix="Create one under another id."
    )


def revision_of(directory: Path) -> str:
    """What changes with the manifest and the skills, for a package that can't be loaded too."""
    try:
        return digest(directory, survey(directory))
    except AgentInvalid:
        return "unreadable"


def expect(directory: Path, revision: str | None) -> None:
    """Raise Changed unless the package still has the revision that the caller saw."""
    if revision is not None and revision != revision_of(directory):
        raise Changed(
            f"'{directory.name}' changed since revision {revision[:12]}.", fix="Read it again with agent_read."
        )


def put_whole(desk: Desk, agent_id: str, files: Mapping[str, str], *, overwrite: bool) -> str:
    """Put a new package in place, all of it or nothing. Returns the trash name of the one it replaces, or nothing.

    Raises AgentExists or NotWritten.
    """
    making, target = desk.agents_dir / f"{UNFINISHED}{secrets.token_hex(8)}", desk.agents_dir / agent_id
    with _alone(desk.agents_dir):
        try:
            _sweep(desk.agents_dir)
            _write_all(making, files)
            (making / "state").mkdir(exist_ok=True)
            if is_there(target) and not overwrite:
                raise exists(agent_id)
            trashed = _to_trash(desk, agent_id) if is_there(target) else ""
            try:
                making.rename(target)
            except OSError:
                if trashed:
                    (_trash(desk) / trashed).rename(target)
                raise
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return trashed


def replace_whole(folder: Path, name: str, files: Mapping[str, str]) -> None:
    """Write files as one folder of that name, in the place of the one before. Raises NotWritten."""
    fresh, old = (folder / f"{UNFINISHED}{secrets.token_hex(8)}" for _ in range(2))
    with _alone(folder):
        try:
            _sweep(folder)
            _write_all(fresh, files)
            if is_there(folder / name):
                (folder / name).rename(old)
            fresh.rename(folder / name)
        finally:
            for each in (fresh, old):
                shutil.rmtree(each, ignore_errors=True)


def exists(agent_id: str) -> AgentExists:
    """The error for an id that is taken."""
    return AgentExists(
        f"There is an agent '{agent_id}' already.",
        fix="Choose another id, or change that one with agent_update_manifest and agent_write_file.",
    )


def to_trash(desk: Desk, agent_id: str) -> str:
    """Move a package to the trash; its name there. Raises AgentMissing, NotYours or NotWritten."""
    with _alone(desk.agents_dir):
        return _to_trash(desk, owned(desk, agent_id).name)


def from_trash(desk: Desk, agent_id: str) -> None:
    """Bring the newest package of that id back. Raises AgentMissing, AgentExists or NotWritten."""
    with _alone(desk.agents_dir):
        name = restorable(desk, agent_id)
        (_trash(desk) / name).rename(desk.agents_dir / agent_id)


def restorable(desk: Desk, agent_id: str) -> str:
    """The trash name of the newest package of that id that can come back. Raises AgentMissing or AgentExists."""
    there = is_identifier(agent_id) and is_there(desk.agents_dir / agent_id)
    if there or any(e.id == agent_id and e.source in ("user", "bundled") for e in desk.registry.entries()):
        raise AgentExists(
            f"There is an agent '{agent_id}' already.", fix="Delete that one first: it goes to the trash in its turn."
        )
    names = trashed(desk)
    name = next((n for n in names if n.split(".")[0] == agent_id), None)
    if name is None:
        known = ", ".join(dict.fromkeys(n.split(".")[0] for n in names)) or "nothing"
        raise AgentMissing(f"The trash has no '{agent_id}'.", fix=f"In the trash: {known}.")
    return name


def is_there(path: Path) -> bool:
    """Whether anything has that name, a link that leads nowhere too."""
    return path.is_symlink() or path.exists()


def _to_trash(desk: Desk, agent_id: str) -> str:
    trash = _trash(desk)
    trash.mkdir(parents=True, exist_ok=True)
    name = f"{agent_id}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}.{secrets.token_hex(3)}"
    (desk.agents_dir / agent_id).rename(trash / name)
    sync_folder(trash)
    return name


def trashed(desk: Desk) -> list[str]:
    """The names in the trash, newest first."""
    with suppress(OSError):
        return sorted((path.name for path in _trash(desk).iterdir()), key=lambda n: n.split(".")[1:], reverse=True)
    return []


def _trash(desk: Desk) -> Path:
    return desk.kept_dir / "trash"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Alone among the tools of all processes while packages come and go; what was moved is on disk at the end."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some network file systems have no locks: there a rename still has one winner
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise NotWritten(
            f"{folder} can't be changed: {error.strerror}.", fix="Look at the disk's free space and permissions."
        ) from error


def _sweep(folder: Path) -> None:
    """Take away what processes that were killed left behind."""
    for name in os.listdir(folder):  # noqa: PTH208 - thousands of packages, and names are enough
        if name.startswith(UNFINISHED):
            with suppress(OSError):
                if time.time() - (folder / name).lstat().st_mtime > ABANDONED:
                    shutil.rmtree(folder / name)


def _write_all(folder: Path, files: Mapping[str, str]) -> None:
    """Write a package's files, and make sure that they and their folders are on disk."""
    folder.mkdir()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        _write(folder / path, text)
    for each in {folder, *(folder / parent for path in files for parent in Path(path).parents)}:
        sync_folder(each)


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
