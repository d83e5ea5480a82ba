"""`agent_create`: a new package of the user's own, whole or not at all; and the same of another platform's file."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import Field, JsonValue

from agents_runtime.manifest import AgentStatus, Grant, Manifest, StatePath, SubSkillRef
from builder_skill.desk import Desk
from builder_skill.interchange import read_foreign
from builder_skill.tools.tool import BuilderTool, Shape
from builder_skill.tools.words import Description, Label
from builder_skill.workspace.difference import unified
from builder_skill.workspace.files import texts
from builder_skill.workspace.rules import need_manifest, need_name, need_tools, need_valid
from builder_skill.workspace.secrets import refuse_secrets
from builder_skill.workspace.shelf import exists, is_there, owned, put_whole, revision_of
from builder_skill.workspace.skeleton import Files, skeleton


class CreateInput(Shape):
    """What the new package is."""

    id: str = Field(description="lowercase words joined by hyphens")
    label: Label | None = Field(default=None, description="a name for people; from the id without it")
    description: Description = Field(description="what the agent does, in one sentence")
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


async def adopt(desk: Desk, path: Path, agent_id: str = "", *, overwrite: bool = False) -> str:
    """Make a package of another platform's file; its id. The rules are those of agent_create.

    Raises AgentInvalid, AgentExists, ToolNotProvided or SecretFound.
    """

    def work() -> str:
        found = read_foreign(path, agent_id)
        refuse_secrets(dict(found.files))
        need_manifest(desk, found.manifest)
        need_tools(desk, found.manifest.id, found.manifest.allowed_tools)
        _replaced(desk, found.manifest.id, overwrite=overwrite)
        put_whole(desk, found.manifest.id, found.files, overwrite=overwrite)
        return found.manifest.id

    return await asyncio.to_thread(work)


def _planned(desk: Desk, given: CreateInput) -> tuple[Manifest, Files]:
    """The package as it would be. Raises what keeps it from being made."""
    entry = given.entry_skill or given.id
    need_name("id", given.id)
    need_name("entrySkill", entry)
    refuse_secrets(given.model_dump(mode="json", by_alias=True))
    need_tools(desk, given.id, given.allowed_tools)
    manifest = Manifest(
        schema_version=1,
        id=given.id,
        label=given.label or given.id.replace("-", " ").title(),
        description=given.description,
        entry_skill=entry,
        status=given.status,
        allowed_tools=given.allowed_tools,
        sub_skills=given.sub_skills,
        state_files=given.state_files,
        channel_defaults=given.channel_defaults,
    )
    need_manifest(desk, manifest)
    files = skeleton(manifest)
    need_valid(desk, manifest, files)
    return manifest, files


def _replaced(desk: Desk, agent_id: str, *, overwrite: bool) -> dict[str, str]:
    """The texts that a new package would replace. Raises AgentExists or NotYours for an id that can't be had."""
    entry = next((e for e in desk.registry.entries() if e.id == agent_id), None)
    directory = desk.agents_dir / agent_id
    if entry is None and not is_there(directory):
        return {}
    if not overwrite or directory.is_symlink() or (entry is not None and entry.source == "bundled"):
        raise exists(agent_id)
    return texts(directory if entry is None else owned(desk, agent_id))


async def _create(desk: Desk, given: CreateInput) -> Created:
    def work() -> Created:
        manifest, files = _planned(desk, given)
        _replaced(desk, given.id, overwrite=given.overwrite)
        trashed = put_whole(desk, given.id, files, overwrite=given.overwrite)
        return Created(
            id=given.id,
            status=given.status,
            revision=revision_of(desk.agents_dir / given.id),
            files=tuple(files),
            trashed=trashed,
            next=f"Write skills/{manifest.entry_skill}/SKILL.md with agent_write_file, then call agent_validate.",
        )

    return await asyncio.to_thread(work)


async def _preview(desk: Desk, given: CreateInput) -> str:
    def work() -> str:
        _, files = _planned(desk, given)
        return unified(_replaced(desk, given.id, overwrite=given.overwrite), files)

    return await asyncio.to_thread(work)


AGENT_CREATE = BuilderTool(
    name="agent_create",
    description="Create a package: manifest, skills, wiring, state files, README. The one source of the skeleton.",
    effect="write",
    input=CreateInput,
    output=Created,
    run=_create,
    preview=_preview,
)
