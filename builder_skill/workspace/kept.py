"""Each package as it was last deployed, kept beside the packages so that what changed since can be shown."""

from __future__ import annotations

from pathlib import Path

from agents_runtime.invalid import AgentInvalid
from agents_runtime.package import AgentPackage
from agents_runtime.tree import MANIFEST
from builder_skill.desk import Desk
from builder_skill.workspace.files import DEPLOYED, texts
from builder_skill.workspace.shelf import replace_whole, revision_of


def keep_deployed(desk: Desk, package: AgentPackage) -> None:
    """Keep a copy of the package's texts; the one before is replaced. Raises NotWritten."""
    replace_whole(desk.kept_dir / "deployed", package.id, texts(package.directory, DEPLOYED))


def deployed(desk: Desk, agent_id: str) -> tuple[str, dict[str, str]] | None:
    """The revision and the texts that were deployed last, or None."""
    folder = desk.kept_dir / "deployed" / agent_id
    if not (folder / MANIFEST).is_file():
        return None
    try:
        return revision_of(folder), texts(folder, DEPLOYED)
    except AgentInvalid:
        return None


def current(directory: Path) -> dict[str, str]:
    """The texts of a package that a deploy would keep."""
    return texts(directory, DEPLOYED)
