"""`agent_rehearse`: a package's benchmark cases, on the real runner and a channel's renderer."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from agents_runtime.package import AgentPackage
from builder_skill.desk import Desk
from builder_skill.rehearsal import Rehearsal, rehearse
from builder_skill.tools.tool import BuilderTool, Shape
from channels.registry import load

ANSWER_SHOWN = 500
"""Characters of an answer that a rehearsal's result shows."""


class RehearseInput(Shape):
    """Which package, and for which channel."""

    id: str
    channel: str = "telegram"


class CaseLine(Shape):
    """How one case went."""

    skill: str
    name: str
    passed: bool
    reasons: tuple[str, ...]
    answer: str
    steps: int
    tokens: int
    seconds: float
    unjudged: bool


class Rehearsed(Shape):
    """All cases; `passed` needs at least one."""

    id: str
    passed: bool
    revision: str
    channel: str
    cases: tuple[CaseLine, ...]


async def _rehearse(desk: Desk, given: RehearseInput) -> Rehearsed:
    found = await rehearsed(desk, given.id, given.channel)
    return Rehearsed(
        id=given.id,
        passed=found.passed,
        revision=found.revision,
        channel=found.channel,
        cases=tuple(CaseLine(**{**asdict(c), "answer": c.answer[:ANSWER_SHOWN]}) for c in found.cases),
    )


async def rehearsed(desk: Desk, agent_id: str, channel: str) -> Rehearsal:
    """All cases of an agent. Raises AgentMissing or AgentInvalid."""
    package: AgentPackage = await asyncio.to_thread(desk.registry.get, agent_id)
    async with desk.running() as run:
        return await rehearse(package, load(channel), run)


AGENT_REHEARSE = BuilderTool(
    name="agent_rehearse",
    description="Run an agent's benchmark cases through the real runner and a channel's renderer; nothing is sent.",
    effect="read",
    input=RehearseInput,
    output=Rehearsed,
    run=_rehearse,
)
