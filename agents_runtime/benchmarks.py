"""The two JSON files beside a SKILL.md: which sub-skills it may run, and cases to rehearse it with."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from agents_runtime.manifest import SubSkillRef


class _Camel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


class SubSkills(_Camel):
    """`sub-skills.json`."""

    sub_skills: tuple[SubSkillRef, ...] = ()


class Expectation(_Camel):
    """What an answer must be like. Every field that is given must hold.

    `judge` is a criterion in words, put to a model; where none is configured it is told as not judged.
    """

    contains: tuple[str, ...] = ()
    matches: tuple[Annotated[str, AfterValidator(_pattern)], ...] = ()
    tool_called: str | None = None
    state_file_changed: str | None = None
    max_steps: int | None = Field(default=None, gt=0)
    judge: str | None = Field(default=None, min_length=1)


class Case(_Camel):
    """One thing to say to the agent, and what is expected of the answer."""

    name: str = Field(min_length=1)
    input: str = Field(min_length=1)
    expect: Expectation = Expectation()


class Benchmarks(_Camel):
    """`benchmarks.json`."""

    cases: tuple[Case, ...] = ()
