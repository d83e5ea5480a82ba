"""Running an agent: from the messages of a turn to its answer.

What is heavy is in `agents_runtime.turn` and below; it is imported in a thread with the first run, so that a process
starts without it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from agents_runtime.models import NamedModel
from agents_runtime.package import AgentPackage
from agents_runtime.prompt import Prompt
from agents_runtime.run import RunRequest, RunResult
from agents_runtime.tools.grants import grants_for
from agents_runtime.tools.tool import AnyTool

if TYPE_CHECKING:
    from agents_runtime.toolset import Toolset

READY = 256
"""Agents whose models and tools are kept ready; the least used goes first."""


class Models(Protocol):
    """Where the runner gets its models from: a `ModelCatalogue`, or a test's own."""

    def chain(self, package: AgentPackage) -> tuple[NamedModel, ...]:
        """The models that answer for an agent, in order of fallback. Slow at first; called in a thread."""
        ...


@dataclass(frozen=True, slots=True)
class ReadyAgent:
    """What stays the same from run to run of one revision of an agent.

    `granted` are all its tools; `toolsets` keeps what each of its skills may use of them, by skill, and `prompts` the
    prompts of the day.
    """

    chain: tuple[NamedModel, ...]
    granted: Mapping[str, AnyTool]
    toolsets: dict[str, Toolset] = field(default_factory=dict[str, "Toolset"])
    prompts: dict[tuple[str, ...], Prompt] = field(default_factory=dict[tuple[str, ...], Prompt])


class Runner:
    """Runs agents on models, each with exactly the tools it was granted."""

    def __init__(self, models: Models, tools: Mapping[str, AnyTool]) -> None:
        self._models = models
        self._tools = tools
        self._ready: OrderedDict[tuple[str, str], ReadyAgent] = OrderedDict()

    async def run(self, request: RunRequest) -> RunResult:
        """Answer one turn.

        Raises ModelFailed when no model answers, AgentHeldBack when a tool the agent needs is not there, and whatever
        the journal raises. What goes wrong in a tool is told to the model instead.
        """
        key = (request.agent.id, request.agent.revision)
        ready = self._ready.get(key)
        if ready is None:
            ready = await asyncio.to_thread(self._prepare, request.agent)
            self._ready[key] = ready
            if len(self._ready) > READY:
                self._ready.popitem(last=False)
        else:
            self._ready.move_to_end(key)
        from agents_runtime.turn import answer

        return await answer(request, ready)

    def _prepare(self, package: AgentPackage) -> ReadyAgent:
        import agents_runtime.turn  # noqa: F401 - slow the first time, and this is a thread

        return ReadyAgent(self._models.chain(package), grants_for(package, self._tools))
