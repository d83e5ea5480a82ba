"""Approvals: a model's write waits here, is shown as a difference, and is done exactly as shown, or not at all."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from pydantic import JsonValue, TypeAdapter
from ulid import ULID

from builder_skill.desk import Desk
from builder_skill.gate import ApprovalFailed, ApprovalNeeded, ApprovalRefused, ApprovalStale
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import AnyBuilderTool, call, find, read_input
from channels.errors import PostroomError
from channels.message import Conversation
from gateway.ledger.approval import Approval
from gateway.ledger.errors import NotFound
from gateway.ledger.protocol import Ledger

ALL = "*"
"""In the tools that need no approval: all of them."""

RECENT = 200
"""Approvals among which an equal call is looked for."""

INTERRUPTED_AFTER = 600.0
"""Seconds after the yes when a call without an outcome was cut off: longer than any rehearsal before a deploy."""

_INTERRUPTED: dict[str, JsonValue] = {
    "error": {"code": "interrupted", "message": "It was cut off.", "fix": "Look at what is there before you ask again."}
}

CODE = 6
"""Letters of an approval's id that a person may type instead of all of it."""

SAID = re.compile(
    rf"\s*(?P<word>approve|refuse)\s+(?P<code>[0-9a-z]{{{CODE}}}|[0-9a-z]{{26}})\s*[.!]?\s*", re.IGNORECASE
)
"""A person's answer where there are no buttons."""

_TOLD = TypeAdapter(dict[str, str])


class Approvals:
    """The gate of one caller, and the decisions of the owner."""

    def __init__(
        self,
        ledger: Ledger,
        desk: Desk,
        by: str,
        lifted: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`by` is who asks; `lifted` are the tools that need no approval."""
        self._ledger = ledger
        self._desk = desk
        self._by = by
        self._lifted = lifted
        self._clock = clock

    def needs_approval(self, tool: AnyBuilderTool) -> bool:
        """Whether a call of this tool waits for a person."""
        return tool.effect != "read" and not self._lifted & {ALL, tool.name}

    async def call(
        self, tool: AnyBuilderTool, arguments: Mapping[str, JsonValue], conversation: Conversation | None = None
    ) -> dict[str, JsonValue]:
        """See Gate. The same call again is told what became of the first one."""
        if not self.needs_approval(tool):
            return await call(tool, self._desk, arguments)
        known = await self._known(tool.name, dict(arguments), conversation)
        if known is None:
            known = Approval(
                id=str(ULID()),
                tool=tool.name,
                arguments=dict(arguments),
                preview=await preview(tool, self._desk, arguments),
                by=self._by,
                created_at=self._clock(),
                conversation=conversation,
            )
            await self._ledger.add_approval(known)
        if known.state == "running" and self._clock() - (known.decided_at or 0.0) > INTERRUPTED_AFTER:
            known = replace(known, state="failed", result=_INTERRUPTED)
            await self._ledger.move_approval(known, "running")
        if known.state in ("waiting", "running"):
            raise ApprovalNeeded(tool.name, known.id, known.preview)
        await self._ledger.move_approval(replace(known, state="told"), known.state)
        if known.state == "refused":
            raise ApprovalRefused(f"The owner said no to {tool.name}.", fix="Ask what they want instead.")
        if known.state == "failed":
            raise _failure(known)
        return known.result or {}

    async def decide(self, approval_id: str, *, yes: bool, by: str) -> Approval:
        """The owner's word, taken once: what was decided before stays. The approval as it is then.

        Raises NotFound. An error of the tool is in the result.
        """
        asked = await self.find(approval_id)
        decided = replace(asked, state="running" if yes else "refused", decided_by=by, decided_at=self._clock())
        if not await self._ledger.move_approval(decided, "waiting"):
            return await self._ledger.approval(asked.id)
        if not yes:
            return decided
        done = await self._carry_out(decided)
        await self._ledger.move_approval(done, "running")
        return done

    async def answer(self, text: str, *, by: str) -> Approval | None:
        """What a person decided by writing `approve CODE` or `refuse CODE`; None where the text is something else."""
        said = SAID.fullmatch(text)
        if said is None:
            return None
        try:
            return await self.decide(said["code"].upper(), yes=said["word"].lower() == "approve", by=by)
        except NotFound:
            return None

    async def told(self, approval: Approval) -> None:
        """Note that the caller has been told, so that an equal call is a new one."""
        if approval.state in ("done", "failed", "refused"):
            await self._ledger.move_approval(replace(approval, state="told"), approval.state)

    async def _carry_out(self, approval: Approval) -> Approval:
        try:
            tool = find(CATALOGUE, approval.tool)
            if await preview(tool, self._desk, approval.arguments) != approval.preview:
                raise ApprovalStale("Something changed since this was shown.", fix="Ask again, and look at it again.")
            result = await call(tool, self._desk, approval.arguments)
        except PostroomError as error:
            told: dict[str, JsonValue] = {"code": error.code, "message": error.message, "fix": error.fix}
            return replace(approval, state="failed", result={"error": told})
        return replace(approval, state="done", result=result)

    async def _known(
        self, tool: str, arguments: dict[str, JsonValue], conversation: Conversation | None
    ) -> Approval | None:
        for each in await self._ledger.approvals(RECENT):
            same = (each.tool, each.arguments, each.by, each.conversation) == (tool, arguments, self._by, conversation)
            if same and each.state != "told":
                return each
        return None

    async def find(self, approval_id: str) -> Approval:
        """By its id or its last six letters. Raises NotFound."""
        if len(approval_id) != CODE:
            return await self._ledger.approval(approval_id.upper())
        for each in await self._ledger.approvals(RECENT):
            if each.id.endswith(approval_id.upper()):
                return each
        raise NotFound(f"There is no approval '{approval_id}'.", fix="See what waits: postroom approval list")


def _failure(approval: Approval) -> ApprovalFailed:
    told = _TOLD.validate_python((approval.result or {}).get("error", {}))
    return ApprovalFailed(
        f"{told.get('code', '')}: the owner said yes, and {approval.tool} failed. {told.get('message', '')}",
        fix=told.get("fix", ""),
    )


async def preview(tool: AnyBuilderTool, desk: Desk, arguments: Mapping[str, JsonValue]) -> str:
    """What a write would change, as the owner is shown it. Raises what the write would raise."""
    given = read_input(tool, arguments)
    if tool.preview is not None:
        return await tool.preview(desk, given)
    return f"{tool.name} {given.model_dump_json(by_alias=True, exclude_defaults=True)}"
