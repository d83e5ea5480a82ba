"""`agent_list`: what agents there are. Metadata only: no directory, so that nothing is copied from."""

from __future__ import annotations

import asyncio

from agents_runtime.manifest import AgentStatus
from agents_runtime.package import Source
from builder_skill.desk import Desk
from builder_skill.tools.tool import BuilderTool, Shape


class ListInput(Shape):
    """No arguments."""


class AgentLine(Shape):
    """One agent. `status` is null where its agent.json can't be read."""

    id: str
    label: str
    description: str
    entry_skill: str
    status: AgentStatus | None
    source: Source


class AgentLines(Shape):
    """Every agent, by id."""

    agents: tuple[AgentLine, ...]


async def _list(desk: Desk, _input: ListInput) -> AgentLines:
    entries = await asyncio.to_thread(desk.registry.entries)
    return AgentLines(
        agents=tuple(AgentLine(**{name: getattr(e, name) for name in AgentLine.model_fields}) for e in entries)
    )


AGENT_LIST = BuilderTool(
    name="agent_list",
    description="List agents: ids and names, to see which are taken. Not for looking at how others are built.",
    effect="read",
    input=ListInput,
    output=AgentLines,
    run=_list,
)
