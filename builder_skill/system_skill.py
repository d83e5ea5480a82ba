"""The builder's skill as a protected system skill in the data folder: put back if it changed."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from channels.errors import PostroomError

NAME = "channel-agent-builder"
AGENT_ID = "builder"

TRIES = 10
"""Looks and moves before giving up on a folder that something else keeps changing."""

LEFT_AFTER = 60.0
"""Seconds after which a copy set aside belongs to no process that is still at work."""

_ASIDE = f".{NAME}-"

METADATA = {"ownershipKind": "system", "isProtected": True, "isVisibleInLibrary": False, "canEdit": False}
"""What `skill.json` beside it says of it."""


class SkillNotInstalled(PostroomError):
    """The system skill's folder can't be put right."""

    code = "system_skill_not_installed"


@dataclass(frozen=True, slots=True)
class SystemSkill:
    """One installed system skill."""

    name: str
    directory: Path
    ownership_kind: str
    is_protected: bool
    is_visible_in_library: bool
    can_edit: bool


def builder_root() -> Path:
    """The folder of the builder agent, which has the skill in front."""
    return Path(__file__).parent / "agents"


def skill_text() -> str:
    """The skill as it ships."""
    return (builder_root() / AGENT_ID / "skills" / NAME / "SKILL.md").read_text(encoding="utf-8")


def install(home: Path) -> Path:
    """Put the skill under `home/skills/.system/`, whole, unless it is there unchanged. Its folder.

    Safe to run in several processes at once. Raises SkillNotInstalled where something else keeps writing there.
    """
    folder, wanted = _folder(home), _files()
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    for _ in range(TRIES):
        if _there(folder) == wanted:
            return folder
        fresh, old = (folder.parent / f"{_ASIDE}{secrets.token_hex(6)}" for _ in range(2))
        fresh.mkdir()
        for name, text in wanted.items():
            (fresh / name).write_text(text, encoding="utf-8")
        try:
            if folder.is_symlink() or folder.exists():
                folder.rename(old)
            fresh.rename(folder)
        except OSError:  # another process is doing the same: look again
            continue
        finally:
            _remove(fresh)
            _remove(old)
    raise SkillNotInstalled(f"{folder} can't be put right.", fix="See that nothing else writes there, and start again.")


def installed(home: Path) -> list[SystemSkill]:
    """The system skills of a data folder: those that ship and are there unchanged. A stray folder is none."""
    folder = _folder(home)
    if _there(folder) != _files():
        return []
    return [SystemSkill(NAME, folder, "system", is_protected=True, is_visible_in_library=False, can_edit=False)]


def _folder(home: Path) -> Path:
    return home / "skills" / ".system" / NAME


def _files() -> dict[str, str]:
    return {"SKILL.md": skill_text(), "skill.json": json.dumps(METADATA, indent=2) + "\n"}


def _sweep(parent: Path) -> None:
    """Take away what a process left that was killed in the middle."""
    for path in parent.glob(f"{_ASIDE}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.lstat().st_mtime > LEFT_AFTER:
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)


def _there(folder: Path) -> dict[str, str] | None:
    """What is in the folder, or None where it is not plain files."""
    try:
        if folder.is_symlink() or any(path.is_symlink() or not path.is_file() for path in folder.iterdir()):
            return None
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    except (OSError, UnicodeDecodeError):
        return None
