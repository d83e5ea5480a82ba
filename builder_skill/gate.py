"""The gate that every door calls tools through: reads pass, writes by a model wait for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic import JsonValue

from builder_skill.tools.tool import AnyBuilderTool
from channels.errors import PostroomError
from channels.message import Conversation


class ApprovalNeeded(PostroomError):
    """The call waits for the owner's yes. `approval_id` names it; `preview` is what the owner is shown."""

    code = "approval_needed"

    def __init__(self, tool: str, approval_id: str, preview: str) -> None:
        super().__init__(
            f"{tool} waits for the owner's yes: approval {approval_id}.",
            fix=f"The owner says yes with: postroom approval yes {approval_id}. Then call it again, unchanged.",
        )
        self.tool = tool
        self.approval_id = approval_id
        self.preview = preview


class ApprovalRefused(PostroomError):
    """The owner said no."""

    code = "approval_refused"


class ApprovalStale(PostroomError):
    """What would be written is no longer what the owner was shown."""

    code = "approval_stale"


class ApprovalFailed(PostroomError):
    """The owner said yes, and then the tool refused. The message starts with the tool's own code."""

    code = "approval_failed"


class Gate(Protocol):
    """One caller's way to the tools."""

    async def call(
        self, tool: AnyBuilderTool, arguments: Mapping[str, JsonValue], conversation: Conversation | None = None
    ) -> dict[str, JsonValue]:
        """Run a tool on JSON arguments. Raises ApprovalNeeded, ApprovalRefused, ApprovalFailed, and what it raises."""
        ...


class AskingGate(Gate, Protocol):
    """A gate that takes the owner's word from whoever can ask them."""

    async def decide(self, approval_id: str, *, yes: bool, by: str) -> object:
        """The owner's word, taken once; the same call again is then told what became of it. Raises NotFound."""
        ...
