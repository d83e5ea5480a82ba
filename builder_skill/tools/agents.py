"""The tools that make, read, change and check packages of the user's own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from agents_runtime.invalid import AgentInvalid
from agents_runtime.json_files import read_json
from agents_runtime.manifest import (
    AgentStatus,
    Grant,
    Identifier,
    IdleRollover,
    Manifest,
    StatePath,
    StateScope,
    SubSkillRef,
    is_identifier,
)
from agents_runtime.tools.confine import place_in, rewrite
from agents_runtime.tools.grants import held_back, open_to
from agents_runtime.tree import MANIFEST, read_text
from builder_skill.desk import Desk
from builder_skill.interchange import read_foreign
from builder_skill.tools.tool import BuilderTool, Shape
from builder_skill.workspace.checks import Check, check_package, is_valid
from builder_skill.workspace.difference import unified
from builder_skill.workspace.kept import current, deployed
from builder_skill.workspace.secrets import refuse_secrets
from builder_skill.workspace.shelf import (
    TEXT_MAX,
    Changed,
    PathRefused,
    exists,
    expect,
    from_trash,
    owned,
    put_file,
    put_whole,
    restorable,
    revision_of,
    texts,
    to_trash,
    writable,
)
from builder_skill.workspace.skeleton import manifest_text, skeleton
from channels.errors import PostroomError

SHOWN_MAX = 40_000
"""Characters of a file that agent_read shows."""


class NameInvalid(PostroomError):
    """An id or a name that can't be used."""

    code = "name_invalid"


class ToolNotProvided(PostroomError):
    """The agent is to have a tool that nobody provides."""

    code = "tool_unknown"


class AgentInUse(PostroomError):
    """Live routes point at the agent."""

    code = "agent_in_use"


class ManifestInvalid(PostroomError):
    """The manifest would not be valid."""

    code = "manifest_invalid"


class AgentId(Shape):
    """Which agent."""

    id: str = Field(description="the agent's id")


class CreateInput(Shape):
    """What the new package is."""

    id: str = Field(description="lowercase words joined by hyphens")
    label: str = Field(default="", max_length=100, description="a name for people; from the id without it")
    description: str = Field(min_length=1, max_length=1024, description="what the agent does, in one sentence")
    entry_skill: str = Field(default="", description="the entry skill's name; the id without it")
    status: AgentStatus = Field(default="draft", description="draft can't be deployed yet")
    allowed_tools: tuple[Grant, ...] = Field(
        default=(), description="the narrowest that do: each a name, NAME.* or NAME?"
    )
    sub_skills: tuple[SubSkillRef, ...] = Field(default=(), description="steps run with execute_skill")
    state_files: tuple[StatePath, ...] = Field(default=(), description="files under state/, such as log.json")
    channel_defaults: dict[str, JsonValue] = Field(default_factory=dict)
    overwrite: bool = Field(default=False, description="move an agent of yours with this id to the trash first")


class Created(Shape):
    """A package that was made, and what to do next."""

    id: str
    status: AgentStatus
    revision: str
    files: tuple[str, ...]
    trashed: str = Field(default="", description="the trash name of the one it replaced")
    next: str


class PackageFile(Shape):
    """A file of a package. `text` is left out where it is long."""

    path: str
    size: int
    text: str | None = None
    editable_with: Literal["agent_update_manifest", "agent_write_file"]


class Package(Shape):
    """A package of the user's own, as it is on disk."""

    id: str
    status: AgentStatus | None
    revision: str
    manifest: dict[str, JsonValue] | None
    problem: str = ""
    files: tuple[PackageFile, ...]


class UpdateInput(Shape):
    """Fields to change; what is left out stays."""

    id: str
    revision: str = Field(description="as agent_read gave it; refused if the package changed since")
    label: str | None = Field(default=None, max_length=100)
    description: str | None = Field(default=None, max_length=1024)
    entry_skill: Identifier | None = None
    status: AgentStatus | None = None
    allowed_tools: tuple[Grant, ...] | None = None
    sub_skills: tuple[SubSkillRef, ...] | None = None
    state_files: tuple[StatePath, ...] | None = None
    channel_defaults: dict[str, JsonValue] | None = None
    models: tuple[str, ...] | None = None
    max_turns: int | None = None
    idle_rollover: IdleRollover | None = None
    language: str | None = None
    state_scope: StateScope | None = None


class Revision(Shape):
    """The package after a change."""

    id: str
    revision: str


class WriteInput(Shape):
    """One file to write, whole."""

    id: str
    path: str = Field(description="skills/NAME/SKILL.md, state/NAME or README.md")
    content: str = Field(max_length=TEXT_MAX)
    revision: str | None = Field(default=None, description="refused if the package changed since this one")


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


class DeleteInput(Shape):
    """Which agent goes to the trash."""

    id: str
    even_if_live: bool = Field(default=False, description="although live routes point at it, which then fail")


class Deleted(Shape):
    """Where it went."""

    id: str
    trashed: str


class Difference(Shape):
    """What changed since the last deploy. `deployed_revision` is null where it never was."""

    id: str
    revision: str
    deployed_revision: str | None
    diff: str


def _manifest(desk: Desk, given: CreateInput) -> Manifest:
    for what, name in (("id", given.id), ("entrySkill", given.entry_skill or given.id)):
        if not is_identifier(name):
            raise NameInvalid(
                f"'{name[:80]}' can't be the {what}.",
                fix="Use lowercase words joined by hyphens, at most 64 characters, such as meeting-miner.",
            )
    names = [given.entry_skill or given.id, *(ref.id for ref in given.sub_skills)]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise NameInvalid(f"Two skills would be named '{twice}'.", fix="Give each a name of its own.")
    refuse_secrets(given.model_dump(mode="json", by_alias=True))
    _need_tools(desk, given.id, given.allowed_tools)
    return Manifest(
        schema_version=1,
        id=given.id,
        label=given.label or given.id.replace("-", " ").title(),
        description=given.description,
        entry_skill=given.entry_skill or given.id,
        status=given.status,
        allowed_tools=given.allowed_tools,
        sub_skills=given.sub_skills,
        state_files=given.state_files,
        channel_defaults=given.channel_defaults,
    )


def _need_tools(desk: Desk, agent_id: str, grants: tuple[str, ...]) -> None:
    held = held_back(agent_id, grants, open_to(agent_id, "user", desk.provided))
    if held is not None:
        raise ToolNotProvided(held.message, fix=held.fix)


def _before_create(desk: Desk, given: CreateInput) -> dict[str, str]:
    """The texts that creating would replace. Raises AgentExists for an id that can't be had."""
    entry = next((e for e in desk.registry.entries() if e.id == given.id), None)
    directory = desk.agents_dir / given.id
    if entry is None and not directory.is_symlink() and not directory.exists():
        return {}
    if not given.overwrite or directory.is_symlink() or (entry is not None and entry.source == "bundled"):
        raise exists(given.id)
    return texts(directory if entry is None else owned(desk, given.id))


async def adopt(desk: Desk, path: Path, agent_id: str = "", *, overwrite: bool = False) -> str:
    """Make a package of another platform's file; its id. The rules are those of agent_create.

    Raises AgentInvalid, AgentExists, ToolNotProvided or SecretFound.
    """

    def work() -> str:
        found = read_foreign(path, agent_id)
        given = CreateInput(id=found.manifest.id, description=found.manifest.description, overwrite=overwrite)
        refuse_secrets(dict(found.files))
        _need_tools(desk, found.manifest.id, found.manifest.allowed_tools)
        _before_create(desk, given)
        put_whole(desk, found.manifest.id, found.files, overwrite=overwrite)
        return found.manifest.id

    return await asyncio.to_thread(work)


async def _create(desk: Desk, given: CreateInput) -> Created:
    def work() -> Created:
        manifest = _manifest(desk, given)
        _before_create(desk, given)
        files = skeleton(manifest)
        trash = put_whole(desk, given.id, files, overwrite=given.overwrite)
        return Created(
            id=given.id,
            status=given.status,
            revision=revision_of(desk.agents_dir / given.id),
            files=tuple(files),
            trashed=trash,
            next=f"Write skills/{manifest.entry_skill}/SKILL.md with agent_write_file, then call agent_validate.",
        )

    return await asyncio.to_thread(work)


async def _preview_create(desk: Desk, given: CreateInput) -> str:
    def work() -> str:
        manifest = _manifest(desk, given)
        return unified(_before_create(desk, given), skeleton(manifest))

    return await asyncio.to_thread(work)


async def _read(desk: Desk, given: AgentId) -> Package:
    def work() -> Package:
        directory = owned(desk, given.id)
        manifest, problem = None, ""
        try:
            manifest = desk.registry.get(given.id).manifest
        except AgentInvalid as error:
            problem = str(error)
        files = tuple(
            PackageFile(
                path=path,
                size=len(text.encode()),
                text=text if len(text) <= SHOWN_MAX else None,
                editable_with="agent_update_manifest" if path == MANIFEST else "agent_write_file",
            )
            for path, text in texts(directory).items()
            if not path.startswith(("state/conversations/", "state/senders/"))
        )
        return Package(
            id=given.id,
            status=None if manifest is None else manifest.status,
            revision=revision_of(directory),
            manifest=None
            if manifest is None
            else manifest.model_dump(mode="json", by_alias=True, exclude_defaults=True),
            problem=problem,
            files=files,
        )

    return await asyncio.to_thread(work)


def _updated(desk: Desk, given: UpdateInput) -> tuple[str, str]:
    """`agent.json` as it is and as it would be. Raises Changed, ToolNotProvided, ManifestInvalid or SecretFound."""
    directory = owned(desk, given.id)
    expect(directory, given.revision)
    before = read_text(directory, MANIFEST)
    changes = given.model_dump(mode="json", by_alias=True, exclude={"id", "revision"}, exclude_none=True)
    refuse_secrets(changes)
    now = read_json(Manifest, before, MANIFEST)
    try:
        after = Manifest.model_validate(
            {**now.model_dump(mode="json", by_alias=True, exclude_defaults=True), "schemaVersion": 1, **changes},
            by_alias=True,
            by_name=False,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ManifestInvalid(f"{where}: {first['msg']}.", fix="Put the field right; nothing was written.") from error
    _need_tools(desk, given.id, after.allowed_tools)
    return before, manifest_text(after)


async def _update(desk: Desk, given: UpdateInput) -> Revision:
    def work() -> Revision:
        before, after = _updated(desk, given)
        directory = owned(desk, given.id)
        rewrite(place_in(directory, MANIFEST), lambda now: _still(now, before, after, given.id), TEXT_MAX)
        return Revision(id=given.id, revision=revision_of(directory))

    return await asyncio.to_thread(work)


def _still(now: bytes, before: str, after: str, agent_id: str) -> bytes:
    if now.decode("utf-8-sig", errors="replace") != before:
        raise Changed(f"'{agent_id}' changed meanwhile.", fix="Read it again with agent_read.")
    return after.encode()


async def _preview_update(desk: Desk, given: UpdateInput) -> str:
    before, after = await asyncio.to_thread(_updated, desk, given)
    return unified({MANIFEST: before}, {MANIFEST: after})


def _to_write(desk: Desk, given: WriteInput) -> str | None:
    """The file as it is, or None where there is none. Raises what keeps it from being written."""
    directory = owned(desk, given.id)
    place = writable(directory, given.path)
    expect(directory, given.revision)
    refuse_secrets({given.path: given.content})
    if "\0" in given.content:
        raise PathRefused(f"'{given.path}' would not be text.", fix="Write plain text.")
    path = directory.joinpath(*place.parts)
    if any(each.is_symlink() for each in [path, *path.parents][: len(place.parts)]) or path.is_dir():
        raise PathRefused(f"'{given.path}' is a link or a folder.", fix="Write another path.")
    if not path.exists():
        return None
    return read_text(directory, "/".join(place.parts))


async def _write_file(desk: Desk, given: WriteInput) -> Revision:
    def work() -> Revision:
        before = _to_write(desk, given)
        directory = owned(desk, given.id)
        put_file(directory, given.path, given.content, before)
        return Revision(id=given.id, revision=revision_of(directory))

    return await asyncio.to_thread(work)


async def _preview_write(desk: Desk, given: WriteInput) -> str:
    before = await asyncio.to_thread(_to_write, desk, given)
    return unified({} if before is None else {given.path: before}, {given.path: given.content})


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


async def _delete(desk: Desk, given: DeleteInput) -> Deleted:
    await _need_no_routes(desk, given)
    return Deleted(id=given.id, trashed=await asyncio.to_thread(to_trash, desk, owned(desk, given.id).name))


async def _need_no_routes(desk: Desk, given: DeleteInput) -> None:
    owned(desk, given.id)
    live = [r.id for r in await desk.deploys.routes() if r.enabled and r.agent_id == given.id]
    if live and not given.even_if_live:
        raise AgentInUse(
            f"'{given.id}' answers on {', '.join(live[:5])}.",
            fix=f"Disable the route first: channel_route_disable {live[0]}",
        )


async def _preview_delete(desk: Desk, given: DeleteInput) -> str:
    await _need_no_routes(desk, given)
    return f"Move agent '{given.id}' to the trash ({len(texts(owned(desk, given.id)))} files)."


async def _restore(desk: Desk, given: AgentId) -> Revision:
    def work() -> Revision:
        from_trash(desk, given.id)
        return Revision(id=given.id, revision=revision_of(desk.agents_dir / given.id))

    return await asyncio.to_thread(work)


async def _preview_restore(desk: Desk, given: AgentId) -> str:
    restorable(desk, given.id)
    return f"Bring agent '{given.id}' back from the trash."


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
AGENT_CREATE = BuilderTool(
    name="agent_create",
    description="Create a package: manifest, skills, wiring, state files, README. The one source of the skeleton.",
    effect="write",
    input=CreateInput,
    output=Created,
    run=_create,
    preview=_preview_create,
)
AGENT_UPDATE_MANIFEST = BuilderTool(
    name="agent_update_manifest",
    description="Change fields of an agent's agent.json.",
    effect="write",
    input=UpdateInput,
    output=Revision,
    run=_update,
    preview=_preview_update,
)
AGENT_WRITE_FILE = BuilderTool(
    name="agent_write_file",
    description="Write one file inside a package, whole: a SKILL.md, a benchmarks.json, a state file, the README.",
    effect="write",
    input=WriteInput,
    output=Revision,
    run=_write_file,
    preview=_preview_write,
)
AGENT_VALIDATE = BuilderTool(
    name="agent_validate",
    description="Check a package: skills, wiring, tools, state, benchmarks, secrets, paths, prompt size.",
    effect="read",
    input=AgentId,
    output=Validation,
    run=_validate,
)
AGENT_DELETE = BuilderTool(
    name="agent_delete",
    description="Move an agent to the trash.",
    effect="destructive",
    input=DeleteInput,
    output=Deleted,
    run=_delete,
    preview=_preview_delete,
)
AGENT_RESTORE = BuilderTool(
    name="agent_restore",
    description="Bring an agent back from the trash.",
    effect="write",
    input=AgentId,
    output=Revision,
    run=_restore,
    preview=_preview_restore,
)
AGENT_DIFF = BuilderTool(
    name="agent_diff",
    description="Show what changed in an agent since it was last deployed.",
    effect="read",
    input=AgentId,
    output=Difference,
    run=_diff,
)
