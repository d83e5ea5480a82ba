"""A change that a model asked for, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from channels.message import Conversation

ApprovalState = Literal["waiting", "running", "done", "failed", "refused", "told"]


@dataclass(frozen=True, slots=True)
class Approval:
    """One call of a builder tool that waits for a person, or no longer does.

    `preview` is what the person was shown: only exactly that is written. `by` is who asked; `conversation` is where the
    answer goes, where there is one. `result` is the tool's JSON once it ran, or its error's;
    `told` is the state once the caller has it.
    """

    id: str
    tool: str
    arguments: dict[str, JsonValue]
    preview: str
    by: str
    created_at: float
    conversation: Conversation | None = None
    state: ApprovalState = "waiting"
    decided_by: str = ""
    decided_at: float | None = None
    result: dict[str, JsonValue] | None = None
