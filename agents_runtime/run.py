"""What goes into a run and what comes out: the seam between the gateway and the runner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import JsonValue

from agents_runtime.package import AgentPackage
from agents_runtime.tools.tool import StateGuard, Unguarded
from channels.errors import PostroomError
from channels.message import Button, InboundMessage

Outcome = Literal["answered", "step_limit", "silent"]


class ModelFailed(PostroomError):
    """The model could not answer. `passing` says whether the same run may succeed later."""

    code = "model_failed"

    def __init__(self, message: str, *, passing: bool, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.passing = passing


class Journal(Protocol):
    """Remembers finished side effects of a turn, so that a retried turn does not repeat them."""

    async def lookup(self, key: str) -> str | None:
        """The recorded result, or None."""
        ...

    async def record(self, key: str, result: str) -> None:
        """Record a result; raises when the turn is no longer this worker's."""
        ...


class NoJournal:
    """The journal of a run that nobody tries again."""

    async def lookup(self, key: str) -> str | None:
        """Nothing happened before."""
        return None

    async def record(self, key: str, result: str) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One turn for an agent: its messages in order, what its model saw before, and where it runs.

    `history` is what the last run of the session returned, empty for a new one. `state_dir` is the real folder behind
    the agent's `state/`, `guard` goes around each call that touches it. `manner` is the channel's manner of writing.
    `inbox` holds the fetched attachments.
    """

    agent: AgentPackage
    messages: tuple[InboundMessage, ...]
    history: bytes
    state_dir: Path
    manner: str
    now: datetime
    journal: Journal
    inbox: Path | None = None
    guard: StateGuard = Unguarded()


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """One tool call of a step. `result` is shortened for the record; `ok` False is an error told to the model."""

    tool: str
    arguments: dict[str, JsonValue]
    result: str
    ok: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One model request: the tools it called, and its token counts."""

    model: str
    input_tokens: int
    output_tokens: int
    seconds: float
    tool_calls: tuple[ToolCallRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `text` is Markdown; `history` goes into the session; `prompt_parts` are (name, tokens)."""

    outcome: Outcome
    text: str
    history: bytes
    model: str
    steps: tuple[StepRecord, ...] = ()
    buttons: tuple[Button, ...] = ()
    prompt_parts: tuple[tuple[str, int], ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    notes: tuple[str, ...] = field(default=())


Run = Callable[[RunRequest], Awaitable[RunResult]]
"""The runner as the gateway sees it. Raises ModelFailed; every tool error is told to the model instead."""
