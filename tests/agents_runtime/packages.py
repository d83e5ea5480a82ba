"""Packages on disk, as a person would lay them out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LONG_AGO = 1_700_000_000_000_000_000


def manifest(agent_id: str = "shop", **fields: Any) -> dict[str, Any]:
    """The fields of an `agent.json`; None takes one out."""
    plain = {
        "schemaVersion": 1,
        "id": agent_id,
        "label": "Corner shop",
        "description": "Answers for the corner shop.",
        "entrySkill": "desk",
        "status": "production",
    }
    return {key: value for key, value in {**plain, **fields}.items() if value is not None}


def skill(name: str = "desk", body: str = "Answer briefly.", **fields: str) -> str:
    """A SKILL.md."""
    lines = [f"{key.replace('_', '-')}: {value}" for key, value in {"description": f"The {name}.", **fields}.items()]
    return "\n".join(["---", f"name: {name}", *lines, "---", "", body, ""])


def write_package(root: Path, agent_id: str = "shop", files: Mapping[str, str] | None = None, **fields: Any) -> Path:
    """A package with one skill under a folder of packages; `files` are added, `fields` go into its manifest."""
    everything = {
        "agent.json": json.dumps(manifest(agent_id, **fields), indent=2),
        "skills/desk/SKILL.md": skill(),
        **(files or {}),
    }
    for path, text in everything.items():
        file = root / agent_id / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root / agent_id


def age(directory: Path) -> None:
    """Make everything in a package look long unchanged."""
    for path in [directory, *directory.rglob("*")]:
        os.utime(path, ns=(LONG_AGO, LONG_AGO))


def contents(directory: Path) -> Iterator[tuple[str, bytes | str]]:
    """Every file below a folder with what is in it, and every link with where it leads."""
    for path in sorted(directory.rglob("*")):
        if path.is_symlink():
            yield str(path), str(path.readlink())
        elif path.is_file():
            yield str(path), path.read_bytes()
