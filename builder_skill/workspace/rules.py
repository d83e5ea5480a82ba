"""What must hold before anything is written: names, tools, state files, and no package that would not be valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from agents_runtime.manifest import Manifest, is_identifier
from agents_runtime.tools.grants import held_back, open_to
from builder_skill.desk import Desk
from builder_skill.workspace.checks import check_files
from builder_skill.workspace.files import STATE, writable
from builder_skill.workspace.skeleton import Files
from channels.errors import PostroomError


class NameInvalid(PostroomError):
    """An id or a name that can't be used."""

    code = "name_invalid"


class ToolNotProvided(PostroomError):
    """The agent is to have a tool that nobody provides."""

    code = "tool_unknown"


class PackageInvalid(PostroomError):
    """The package would not be valid."""

    code = "agent_invalid"


def need_name(what: str, name: str) -> None:
    """Raise NameInvalid for an id or a skill's name that can't be used."""
    if not is_identifier(name):
        raise NameInvalid(
            f"{name[:80]!r} can't be the {what}.",
            fix="Use lowercase words joined by hyphens, at most 64 characters, such as meeting-miner.",
        )


def need_manifest(desk: Desk, manifest: Manifest) -> None:
    """Raise NameInvalid for skills of one name, PathRefused or NameInvalid for state files that can't be."""
    names = [manifest.entry_skill, *(ref.id for ref in manifest.sub_skills)]
    twice = _twice(names)
    if twice:
        raise NameInvalid(f"Two skills would be named '{twice}'.", fix="Give each a name of its own.")
    for path in manifest.state_files:
        writable(desk.agents_dir / manifest.id, f"{STATE}/{path}")
    # Folders count too: a file can't be one, and some file systems know no difference between A and a.
    files = [path.lower() for path in manifest.state_files]
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    clash = _twice(files) or next((path for path in files if path in folders), "")
    if clash:
        raise NameInvalid(f"Two state files would be at '{clash}'.", fix="Give each a path of its own.")


def need_tools(desk: Desk, agent_id: str, grants: tuple[str, ...]) -> None:
    """Raise ToolNotProvided, with the nearest names, for a grant that nobody provides."""
    held = held_back(agent_id, grants, open_to(agent_id, "user", desk.provided))
    if held is not None:
        raise ToolNotProvided(held.message, fix=held.fix)


def need_valid(desk: Desk, manifest: Manifest, files: Files) -> None:
    """Raise PackageInvalid for a new package that agent_validate would find an error in."""
    checks = check_files(manifest, files, open_to(manifest.id, "user", desk.provided), desk.agents_dir)
    error = next((check for check in checks if check.severity == "error"), None)
    if error is not None:
        raise PackageInvalid(f"{error.file}:{error.line}: {error.message}", fix=error.fix)


def _twice(names: Iterable[str]) -> str:
    counted = Counter(names)
    return next((name for name, count in counted.items() if count > 1), "")
