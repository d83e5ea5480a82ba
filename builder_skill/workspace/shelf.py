"""The user's packages on disk: found, read, put in place whole, and moved to the trash. Links are never followed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from agents_runtime.invalid import AgentInvalid
from agents_runtime.manifest import is_identifier
from agents_runtime.registry import AgentMissing
from agents_runtime.tools.confine import Place, place_in, rewrite, write
from agents_runtime.tools.tool import ToolError
from agents_runtime.tree import MANIFEST, digest, read_text, survey
from builder_skill.desk import Desk
from channels.errors import PostroomError

UNFINISHED = ".making-"
"""What the names of folders begin with that are not a package yet; discovery passes them over."""

TEXT_MAX = 200_000
"""Bytes of a file that a tool reads or writes."""


class NotYours(PostroomError):
    """The agent is there, and not the user's own package to change."""

    code = "agent_not_yours"


class AgentExists(PostroomError):
    """The id is taken."""

    code = "agent_exists"


class PathRefused(PostroomError):
    """The path is not one inside the package that may be written."""

    code = "path_refused"


class Changed(PostroomError):
    """The package is not what the caller last saw."""

    code = "revision_stale"


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


def texts(directory: Path, tops: tuple[str, ...] = (MANIFEST, "README.md", "skills", "state")) -> dict[str, str]:
    """The text files of a package by path; links, hidden names, and what isn't text are left out."""
    found: dict[str, str] = {}
    for top in tops:
        start = directory / top
        paths = [start] if start.is_file() else sorted(_below(start))
        for path in paths:
            with suppress(AgentInvalid):
                found[str(path.relative_to(directory))] = read_text(directory, str(path.relative_to(directory)))
    return found


def put_whole(desk: Desk, agent_id: str, files: Mapping[str, str], *, overwrite: bool) -> str:
    """Put a new package in place, all of it or nothing. Returns the trash name of the one it replaces, or nothing.

    Raises AgentExists.
    """
    desk.agents_dir.mkdir(parents=True, exist_ok=True)
    making = desk.agents_dir / f"{UNFINISHED}{secrets.token_hex(8)}"
    target = desk.agents_dir / agent_id
    try:
        for path, text in {"state/.keep": "", **files}.items():
            file = making / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if path != "state/.keep":
                _write(file, text)
        trashed = to_trash(desk, agent_id) if overwrite and _is_there(target) else ""
        try:
            making.rename(target)
        except OSError as error:
            if trashed:
                (_trash(desk) / trashed).rename(target)
            raise exists(agent_id) from error
        _sync(desk.agents_dir)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return trashed


def exists(agent_id: str) -> AgentExists:
    """The error for an id that is taken."""
    return AgentExists(
        f"There is an agent '{agent_id}' already.",
        fix="Choose another id, or change that one with agent_update_manifest and agent_write_file.",
    )


def to_trash(desk: Desk, agent_id: str) -> str:
    """Move a package to the trash; its name there."""
    trash = _trash(desk)
    trash.mkdir(parents=True, exist_ok=True)
    name = f"{agent_id}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}.{secrets.token_hex(3)}"
    (desk.agents_dir / agent_id).rename(trash / name)
    return name


def trashed(desk: Desk) -> list[str]:
    """The names in the trash, newest first."""
    with suppress(OSError):
        return sorted((path.name for path in _trash(desk).iterdir()), key=lambda n: n.split(".")[1:], reverse=True)
    return []


def from_trash(desk: Desk, agent_id: str) -> None:
    """Bring the newest package of that id back. Raises AgentMissing or AgentExists."""
    name = restorable(desk, agent_id)
    desk.agents_dir.mkdir(parents=True, exist_ok=True)
    (_trash(desk) / name).rename(desk.agents_dir / agent_id)


def restorable(desk: Desk, agent_id: str) -> str:
    """The trash name of the newest package of that id that can come back. Raises AgentMissing or AgentExists."""
    name = next((n for n in trashed(desk) if n.split(".")[0] == agent_id), None)
    if name is None:
        known = ", ".join(dict.fromkeys(n.split(".")[0] for n in trashed(desk))) or "nothing"
        raise AgentMissing(f"The trash has no '{agent_id}'.", fix=f"In the trash: {known}.")
    if _is_there(desk.agents_dir / agent_id):
        raise exists(agent_id)
    return name


def put_file(directory: Path, path: str, text: str, before: str | None) -> None:
    """Write one file of a package, whole or not at all, if it still is `before`. Raises PathRefused or Changed."""
    place = writable(directory, path)
    try:
        if before is None:
            write(place, text.encode())
        else:
            rewrite(place, lambda now: _still(now, before, text, path), TEXT_MAX)
    except ToolError as error:
        raise PathRefused(
            error.message, fix="Write under skills/ or state/, or README.md; links are not followed."
        ) from error


def writable(directory: Path, path: str) -> Place:
    """The place of a file that may be written. Raises PathRefused."""
    if path == MANIFEST:
        raise PathRefused("agent.json has a tool of its own.", fix="Use agent_update_manifest.")
    try:
        place = place_in(directory, path)
    except ToolError as error:
        raise PathRefused(error.message, fix="Write a path such as skills/NAME/SKILL.md.") from error
    allowed = place.parts == ("README.md",) or (len(place.parts) > 1 and place.parts[0] in {"skills", "state"})
    if not allowed or any(part.startswith(".") for part in place.parts):
        raise PathRefused(f"'{path}' is not a file of a package.", fix="Write under skills/ or state/, or README.md.")
    return place


def _still(now: bytes, before: str, text: str, path: str) -> bytes:
    if now.decode(errors="replace") != before:
        raise Changed(f"'{path}' changed meanwhile.", fix="Read it again, then write.")
    return text.encode()


def _below(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    found: list[Path] = []
    for path in folder.iterdir():
        if path.is_symlink() or path.name.startswith("."):
            continue
        if path.is_dir():
            found += _below(path)
        elif path.is_file():
            found.append(path)
    return found


def _trash(desk: Desk) -> Path:
    return desk.kept_dir / "trash"


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
