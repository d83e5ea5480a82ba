"""Each package as it was last deployed, kept beside the packages so that what changed since can be shown."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from agents_runtime.invalid import AgentInvalid
from agents_runtime.package import AgentPackage
from agents_runtime.tree import MANIFEST
from builder_skill.desk import Desk
from builder_skill.workspace.shelf import revision_of, texts

_DEPLOYED = (MANIFEST, "README.md", "skills")


def keep_deployed(desk: Desk, package: AgentPackage) -> None:
    """Keep a copy of the package's texts; the one before is replaced."""
    folder = desk.kept_dir / "deployed"
    folder.mkdir(parents=True, exist_ok=True)
    fresh, target = folder / f".{secrets.token_hex(6)}", folder / package.id
    for path, text in texts(package.directory, _DEPLOYED).items():
        file = fresh / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    old = folder / f".{secrets.token_hex(6)}"
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def deployed(desk: Desk, agent_id: str) -> tuple[str, dict[str, str]] | None:
    """The revision and the texts that were deployed last, or None."""
    folder = desk.kept_dir / "deployed" / agent_id
    if not (folder / MANIFEST).is_file():
        return None
    try:
        return revision_of(folder), texts(folder, _DEPLOYED)
    except AgentInvalid:
        return None


def current(directory: Path) -> dict[str, str]:
    """The texts of a package that a deploy would keep."""
    return texts(directory, _DEPLOYED)
