"""`agent.json`: what an agent is and what it may do. Unknown fields are refused."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from pydantic.alias_generators import to_camel

ID_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"
ID_MAX = 64

Identifier = Annotated[str, StringConstraints(pattern=ID_PATTERN, max_length=ID_MAX)]
AgentStatus = Literal["draft", "production", "disabled"]
IdleRollover = Literal["3h", "1d", "1w", "never"]
StateScope = Literal["conversation", "sender", "agent"]
Grant = Annotated[str, StringConstraints(pattern=r"^[\w-]+(\.[\w-]+)*(\.\*)?\??$")]
"""A tool's name, a family such as `reminder.*`, or either with `?`."""


def _below_state(path: str) -> str:
    below = path.removeprefix("state/")
    if not below or below.startswith("/") or "\\" in below or ".." in below.split("/") or not below.isprintable():
        raise ValueError("paths are relative and stay in state/, such as state/notes.json")
    return below


StatePath = Annotated[str, AfterValidator(_below_state)]
"""A path counted from the state folder: `state/a.json` and `a.json` are one, and come out as the second."""

StateGlob = Annotated[str, AfterValidator(lambda glob: "**" if glob == "state/" else _below_state(glob))]


class _Camel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class SubSkillRef(_Camel):
    """A sub-skill the entry skill may run."""

    id: Identifier
    description: str = Field(default="", max_length=1024)


class Manifest(_Camel):
    """The contents of `agent.json`, camelCase on disk."""

    schema_version: Literal[1]
    id: Identifier
    label: str = Field(min_length=1, max_length=100)
    description: str = Field(min_length=1, max_length=1024)
    entry_skill: Identifier
    status: AgentStatus = "draft"
    allowed_tools: tuple[Grant, ...] = ()
    sub_skills: tuple[SubSkillRef, ...] = ()
    state_files: tuple[StatePath, ...] = ()
    channel_defaults: dict[str, JsonValue] = Field(default_factory=dict)
    models: tuple[str, ...] = ()
    max_turns: int = Field(default=40, ge=10, le=500)
    idle_rollover: IdleRollover = "3h"
    language: str | None = Field(default=None, max_length=64)
    state_scope: StateScope = "conversation"
    writes: tuple[StateGlob, ...] | None = None

    @property
    def reads_files(self) -> bool:
        """Whether the agent may read files: only then are files fetched for it, and sent for it."""
        return any(grant.removesuffix("?") == "read" for grant in self.allowed_tools)


def is_identifier(text: str) -> bool:
    """Whether text may be an agent id or a skill name: lowercase words joined by single hyphens, at most 64."""
    return len(text) <= ID_MAX and re.fullmatch(ID_PATTERN, text) is not None
