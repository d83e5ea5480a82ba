"""`agent_update_manifest` and `agent_write_file`: a package of the user's own, changed from what was read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import Field, JsonValue, ValidationError

from agents_runtime.json_files import read_json
from agents_runtime.manifest import (
    AgentStatus,
    Grant,
    Identifier,
    IdleRollover,
    Manifest,
    StateGlob,
    StatePath,
    StateScope,
    SubSkillRef,
)
from agents_runtime.tools.confine import Place
from agents_runtime.tree import MANIFEST, MAX_TEXT
from builder_skill.desk import Desk
from builder_skill.tools.tool import BuilderTool, Shape
from builder_skill.tools.words import Description, Label
from builder_skill.workspace.difference import unified
from builder_skill.workspace.files import TEXT_MAX, PathRefused, content_of, manifest_place, put, shown, writable
from builder_skill.workspace.rules import need_manifest, need_tools
from builder_skill.workspace.secrets import refuse_secrets
from builder_skill.workspace.shelf import expect, owned, revision_of
from builder_skill.workspace.skeleton import manifest_text
from channels.errors import PostroomError

EMPTIED = ("language", "writes")
"""Fields for which null means something: no language of its own, no write boundary."""


class ManifestInvalid(PostroomError):
    """The manifest would not be valid."""

    code = "manifest_invalid"


class UpdateInput(Shape):
    """Fields to change; what is left out stays."""

    id: str
    revision: str = Field(description="as agent_read gave it; refused if the package changed since")
    label: Label | None = None
    description: Description | None = None
    entry_skill: Identifier | None = None
    status: AgentStatus | None = None
    allowed_tools: tuple[Grant, ...] | None = None
    sub_skills: tuple[SubSkillRef, ...] | None = None
    state_files: tuple[StatePath, ...] | None = None
    channel_defaults: dict[str, JsonValue] | None = None
    models: tuple[str, ...] | None = None
    max_turns: int | None = None
    idle_rollover: IdleRollover | None = None
    language: str | None = Field(default=None, description="null: the language of the message")
    state_scope: StateScope | None = None
    writes: tuple[StateGlob, ...] | None = Field(default=None, description="null: all of state/; []: nothing")


class WriteInput(Shape):
    """One file to write, whole."""

    id: str
    path: str = Field(description="skills/NAME/SKILL.md, state/NAME or README.md")
    content: str = Field(max_length=TEXT_MAX)
    revision: str | None = Field(default=None, description="refused if manifest or skills changed since this one")


class Revision(Shape):
    """The package after a change."""

    id: str
    revision: str


@dataclass(frozen=True, slots=True)
class _Change:
    """One file as it is, None where there is none, and as it would be."""

    place: Place
    name: str
    before: bytes | None
    after: str

    def told(self) -> str:
        return unified({} if self.before is None else {self.name: shown(self.before)}, {self.name: self.after})


def _updated(desk: Desk, given: UpdateInput) -> _Change:
    """Raises Changed, AgentInvalid, ToolNotProvided, NameInvalid, ManifestInvalid or SecretFound."""
    directory = owned(desk, given.id)
    expect(directory, given.revision)
    place = manifest_place(directory)
    before = content_of(place)
    now = read_json(Manifest, shown(before or b""), MANIFEST)
    asked = given.model_dump(mode="json", by_alias=True, exclude={"id", "revision"}, exclude_unset=True)
    changes = {name: value for name, value in asked.items() if value is not None or name in EMPTIED}
    refuse_secrets(changes)
    try:
        after = Manifest.model_validate(
            now.model_dump(mode="json", by_alias=True) | changes, by_alias=True, by_name=False
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ManifestInvalid(f"{where}: {first['msg']}.", fix="Put the field right; nothing was written.") from error
    if changes.keys() & {"entrySkill", "subSkills", "stateFiles"}:
        need_manifest(desk, after)
    if "allowedTools" in changes:
        need_tools(desk, given.id, after.allowed_tools)
    return _Change(place, MANIFEST, before, manifest_text(after))


def _written(desk: Desk, given: WriteInput) -> _Change:
    """Raises Changed, PathRefused or SecretFound."""
    directory = owned(desk, given.id)
    place = writable(directory, given.path)
    expect(directory, given.revision)
    refuse_secrets({given.path: given.content})
    if "\0" in given.content:
        raise PathRefused(f"'{given.path}' would not be text.", fix="Write plain text.")
    if len(given.content.encode()) > MAX_TEXT:
        raise PathRefused(f"'{given.path}' would be larger than {MAX_TEXT} bytes.", fix="Split it.")
    return _Change(place, "/".join(place.parts[1:]), content_of(place), given.content)


def _done(desk: Desk, agent_id: str, change: _Change) -> Revision:
    put(change.place, change.after.encode(), change.before)
    return Revision(id=agent_id, revision=revision_of(desk.agents_dir / agent_id))


def put_manifest(desk: Desk, agent_id: str, revision: str, text: str) -> None:
    """Write a whole `agent.json` as a person typed it, under the rules of agent_update_manifest.

    Raises Changed, AgentInvalid, ToolNotProvided, NameInvalid, ManifestInvalid or SecretFound.
    """
    directory = owned(desk, agent_id)
    expect(directory, revision)
    place = manifest_place(directory)
    manifest = read_json(Manifest, text, MANIFEST)
    if manifest.id != agent_id:
        raise ManifestInvalid(f"The id is '{manifest.id}', not '{agent_id}'.", fix="An agent keeps its id.")
    refuse_secrets({MANIFEST: text})
    need_manifest(desk, manifest)
    need_tools(desk, agent_id, manifest.allowed_tools)
    put(place, text.encode(), content_of(place))


async def _update(desk: Desk, given: UpdateInput) -> Revision:
    return await asyncio.to_thread(lambda: _done(desk, given.id, _updated(desk, given)))


async def _preview_update(desk: Desk, given: UpdateInput) -> str:
    return await asyncio.to_thread(lambda: _updated(desk, given).told())


async def _write(desk: Desk, given: WriteInput) -> Revision:
    return await asyncio.to_thread(lambda: _done(desk, given.id, _written(desk, given)))


async def _preview_write(desk: Desk, given: WriteInput) -> str:
    return await asyncio.to_thread(lambda: _written(desk, given).told())


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
    run=_write,
    preview=_preview_write,
)
