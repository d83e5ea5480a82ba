"""`agent_read`, `agent_validate` and `agent_diff`: one package of the user's own, looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from agents_runtime.invalid import AgentInvalid
from agents_runtime.loader import load_manifest, load_package
from agents_runtime.manifest import AgentStatus, Manifest
from agents_runtime.tools.grants import open_to
from agents_runtime.tree import MANIFEST, read_text
from builder_skill.desk import Desk
from builder_skill.tools.tool import BuilderTool, Shape
from builder_skill.tools.words import AgentId
from builder_skill.workspace.checks import Check, check_package, is_valid
from builder_skill.workspace.difference import unified
from builder_skill.workspace.files import files_of
from builder_skill.workspace.kept import current, deployed
from builder_skill.workspace.shelf import owned, revision_of

SHOWN_MAX = 40_000
"""Characters of a file that agent_read shows."""


class PackageFile(Shape):
    """A file of a package, by its path from the package's folder. `text` is left out where it is long or no text."""

    path: str
    size: int
    text: str | None
    editable_with: Literal["agent_update_manifest", "agent_write_file"]


class Package(Shape):
    """A package of the user's own, as it is on disk. `problem` says why it can't run."""

    id: str
    status: AgentStatus | None
    revision: str
    manifest: dict[str, JsonValue] | None
    problem: str = ""
    files: tuple[PackageFile, ...]


class CheckLine(Shape):
    """One check."""

    code: str
    severity: Literal["error", "warning", "ok"]
    message: str
    file: str
    line: int
    fix: str


class Validation(Shape):
    """All checks of a package."""

    id: str
    valid: bool
    errors: int
    revision: str
    checks: tuple[CheckLine, ...]


class Difference(Shape):
    """What changed since the last deploy. `deployed_revision` is null where it never was."""

    id: str
    revision: str
    deployed_revision: str | None
    diff: str


def _file(directory: Path, path: Path) -> PackageFile:
    name, text, size = str(path.relative_to(directory)), None, 0
    with suppress(AgentInvalid, OSError):  # an agent may take its state away while it is being looked at
        size = path.lstat().st_size
        text = read_text(directory, name)
    return PackageFile(
        path=name,
        size=size,
        text=text if text is not None and len(text) <= SHOWN_MAX else None,
        editable_with="agent_update_manifest" if name == MANIFEST else "agent_write_file",
    )


async def _read(desk: Desk, given: AgentId) -> Package:
    def work() -> Package:
        directory = owned(desk, given.id)
        manifest: Manifest | None = None
        problem = ""
        try:
            manifest = load_manifest(directory)
            load_package(directory, "user")
        except AgentInvalid as error:
            problem = str(error)
        told = None if manifest is None else manifest.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return Package(
            id=given.id,
            status=None if manifest is None else manifest.status,
            revision=revision_of(directory),
            manifest=told,
            problem=problem,
            files=tuple(_file(directory, path) for path in files_of(directory)),
        )

    return await asyncio.to_thread(work)


async def _validate(desk: Desk, given: AgentId) -> Validation:
    def work() -> Validation:
        directory = owned(desk, given.id)
        checks = check_package(directory, open_to(given.id, "user", desk.provided))
        return Validation(
            id=given.id,
            valid=is_valid(checks),
            errors=sum(check.severity == "error" for check in checks),
            revision=revision_of(directory),
            checks=tuple(_line(check) for check in checks),
        )

    return await asyncio.to_thread(work)


def _line(check: Check) -> CheckLine:
    return CheckLine(**{name: getattr(check, name) for name in CheckLine.model_fields})


async def _diff(desk: Desk, given: AgentId) -> Difference:
    def work() -> Difference:
        directory = owned(desk, given.id)
        last = deployed(desk, given.id)
        before: Mapping[str, str] = {} if last is None else last[1]
        return Difference(
            id=given.id,
            revision=revision_of(directory),
            deployed_revision=None if last is None else last[0],
            diff=unified(before, current(directory)),
        )

    return await asyncio.to_thread(work)


AGENT_READ = BuilderTool(
    name="agent_read",
    description="Read one agent of the user's own, to change it. Only the one the user named.",
    effect="read",
    input=AgentId,
    output=Package,
    run=_read,
)
AGENT_VALIDATE = BuilderTool(
    name="agent_validate",
    description="Check a package: skills, wiring, tools, state, benchmarks, secrets, paths, prompt size.",
    effect="read",
    input=AgentId,
    output=Validation,
    run=_validate,
)
AGENT_DIFF = BuilderTool(
    name="agent_diff",
    description="Show what changed in an agent since it was last deployed.",
    effect="read",
    input=AgentId,
    output=Difference,
    run=_diff,
)
