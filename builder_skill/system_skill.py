"""The builder's skill as a protected system skill in the data folder: put back if it changed."""

from __future__ import annotations

import json
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

NAME = "channel-agent-builder"
AGENT_ID = "builder"

METADATA = {"ownershipKind": "system", "isProtected": True, "isVisibleInLibrary": False, "canEdit": False}
"""What `skill.json` beside it says of it."""


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
    """Put the skill under `home/skills/.system/`, whole, unless it is there unchanged. Its folder."""
    folder = home / "skills" / ".system" / NAME
    wanted = {"SKILL.md": skill_text(), "skill.json": json.dumps(METADATA, indent=2) + "\n"}
    if _there(folder) == wanted:
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh, old = (folder.parent / f".{NAME}-{secrets.token_hex(6)}" for _ in range(2))
    fresh.mkdir()
    for name, text in wanted.items():
        (fresh / name).write_text(text, encoding="utf-8")
    if folder.is_symlink() or folder.exists():
        folder.rename(old)
    fresh.rename(folder)
    if old.is_symlink() or old.is_file():
        old.unlink()
    else:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def installed(home: Path) -> list[SystemSkill]:
    """The system skills of a data folder, with what their metadata says."""
    found: list[SystemSkill] = []
    for path in sorted((home / "skills" / ".system").glob("*/skill.json")):
        said = json.loads(path.read_text(encoding="utf-8"))
        found.append(
            SystemSkill(
                name=path.parent.name,
                directory=path.parent,
                ownership_kind=said["ownershipKind"],
                is_protected=said["isProtected"],
                is_visible_in_library=said["isVisibleInLibrary"],
                can_edit=said["canEdit"],
            )
        )
    return found


def _there(folder: Path) -> dict[str, str] | None:
    """What is in the folder, or None where it is not plain files."""
    try:
        if folder.is_symlink() or any(path.is_symlink() or not path.is_file() for path in folder.iterdir()):
            return None
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    except (OSError, UnicodeDecodeError):
        return None
