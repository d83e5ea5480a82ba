"""Where an agent may read and write: the one place that turns an agent's path into a real one."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents_runtime.tools.tool import ToolContext, ToolError

LONGEST = 512


@dataclass(frozen=True, slots=True)
class Place:
    """A real path, confined. `shown` is how the agent writes it."""

    shown: str
    real: Path
    root: Path


def readable(context: ToolContext, path: str) -> Place:
    """A path in `skills/`, `state/` or `inbox/`. Raises ToolError for anything else."""
    mounts = {"skills": context.agent.directory / "skills", "state": context.state_dir}
    if context.inbox is not None:
        mounts["inbox"] = context.inbox
    parts = _parts(path)
    if parts[0] not in mounts:
        raise ToolError(
            f"'{path}' is outside of what this agent sees.",
            fix=f"Paths begin with {', '.join(f'{m}/' for m in mounts)}.",
        )
    return _confined(path, mounts[parts[0]], parts)


def writable(context: ToolContext, path: str) -> Place:
    """A path in `state/` that the agent's `writes` allows. Raises ToolError for anything else."""
    parts = _parts(path)
    if parts[0] != "state" or len(parts) < 2:
        raise ToolError(f"'{path}' can't be written.", fix="Write files under state/.")
    allowed = context.agent.manifest.writes
    if allowed is not None and not any(matches(glob, "/".join(parts)) for glob in allowed):
        raise ToolError(
            f"'{path}' is outside of this agent's write boundary.",
            fix=f"It may write: {', '.join(allowed)}." if allowed else "This agent may write nothing.",
        )
    return _confined(path, context.state_dir, parts)


def read_bytes(place: Place, limit: int) -> bytes:
    """The file's first `limit` bytes. Follows no link at the end. Raises ToolError."""
    try:
        descriptor = os.open(place.real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise ToolError(f"There is no file '{place.shown}'.", fix="list_files shows what there is.") from error
    except OSError as error:
        raise ToolError(f"'{place.shown}' can't be read.", fix="list_files shows what there is.") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ToolError(f"'{place.shown}' is not a file.", fix="list_files shows what is in a folder.")
        return file.read(limit)


def write_atomically(place: Place, content: bytes) -> None:
    """Write the whole file or nothing: beside it, to disk, then moved into place."""
    place.real.parent.mkdir(parents=True, exist_ok=True)
    _stay(place)
    descriptor, temporary = tempfile.mkstemp(dir=place.real.parent, prefix=".writing-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(place.real)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def matches(glob: str, path: str) -> bool:
    """Whether a path is under a glob: `*` stays inside a segment, `**` crosses them, a trailing `/` means all below."""
    pattern = re.escape(glob + "**" if glob.endswith("/") else glob)
    pattern = pattern.replace(r"\*\*", ".*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    return re.fullmatch(pattern, path) is not None


def _parts(path: str) -> Sequence[str]:
    cleaned = path.removeprefix("./").rstrip("/")
    parts = cleaned.split("/")
    odd = "\0" in path or "\\" in path or ":" in path or len(path) > LONGEST
    if odd or path.startswith("/") or any(part in ("", ".", "..") or part != part.strip() for part in parts):
        raise ToolError(f"{path[:80]!r} is not a path here.", fix="Use plain relative paths such as state/notes.json.")
    return parts


def _confined(path: str, root: Path, parts: Sequence[str]) -> Place:
    place = Place(path, root.joinpath(*parts[1:]), root)
    _stay(place)
    return place


def _stay(place: Place) -> None:
    """Refuse a link anywhere on the way, whether it leads out or not."""
    real_root = place.root.resolve()
    relative = place.real.relative_to(place.root)
    if place.real.resolve() != real_root / relative:
        raise ToolError(f"'{place.shown}' is outside of what this agent sees.", fix="Links are not followed.")
