"""The builder agent's hands: the builder's tools as an agent's tools, each call through the gate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from agents_runtime.tools import BUILT_IN
from agents_runtime.tools.tool import AnyTool, Aside, Tool, ToolContext, ToolError
from builder_skill.gate import ApprovalNeeded, ApprovalRefused, Gate
from builder_skill.system_skill import AGENT_ID
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import AnyBuilderTool, Shape
from channels.errors import PostroomError
from channels.message import Button, Conversation, InboundMessage
from gateway.approvals import CODE, Approvals
from gateway.ledger.approval import Approval
from gateway.ledger.errors import NotFound
from routes.connection import Connection

APPROVE, REFUSE = "approve", "refuse"
"""Ids of the buttons under a change that waits; their value is the approval's id."""

SHOWN = 2_500
"""Characters of a preview that go into a chat; all of it is in the console and at the command line."""

WAITS = "Not done yet: it waits for the owner's yes. They are shown it now. Say in one sentence what it does, and stop."


class _Shut:
    """The gate of a place where the builder's tools are only known by name."""

    async def call(
        self, tool: AnyBuilderTool, arguments: Mapping[str, JsonValue], conversation: Conversation | None = None
    ) -> dict[str, JsonValue]:
        """Nobody runs them here."""
        raise ApprovalRefused(f"{tool.name} can't be used here.", fix="Use postroom build, or a route to the builder.")


def builder_tools(gate: Gate) -> dict[str, AnyTool]:
    """The tools of the builder agent, and of nobody else."""
    return {name: _tool(tool, gate) for name, tool in CATALOGUE.items()}


async def heard(
    approvals: Approvals, connection: Connection, messages: Sequence[InboundMessage]
) -> tuple[InboundMessage, ...]:
    """The messages, an owner's yes or no among them carried out and told in its place.

    Anybody else's press or word decides nothing. Safe to do again: what was decided stays.
    """
    return tuple([await _heard(approvals, connection, message) for message in messages])


async def _heard(approvals: Approvals, connection: Connection, message: InboundMessage) -> InboundMessage:
    if message.sender.id not in connection.owners:
        return message
    by = f"{connection.id}:{message.sender.id}"
    if message.action is not None and message.action.id in (APPROVE, REFUSE):
        try:
            decided = await approvals.decide(message.action.value, yes=message.action.id == APPROVE, by=by)
        except NotFound:
            return message
    else:
        answered = await approvals.answer(message.text, by=by)
        if answered is None:
            return message
        decided = answered
    await approvals.told(decided)
    return replace(message, kind="message", action=None, text=outcome(decided))


def outcome(approval: Approval) -> str:
    """What the builder agent is told of a decision, as the user's turn."""
    match approval.state:
        case "refused":
            return f"The owner refused {approval.tool}. It was not done."
        case "running":
            return f"The owner approved {approval.tool}, and it was interrupted: look at what is there."
        case _:
            asked, result = (json.dumps(v, ensure_ascii=False) for v in (approval.arguments, approval.result))
            return f"The owner approved {approval.tool} {asked}. Result: {result}"


def _tool(tool: AnyBuilderTool, gate: Gate) -> AnyTool:
    async def run(context: ToolContext, given: Shape) -> str:
        arguments: dict[str, JsonValue] = given.model_dump(mode="json", by_alias=True, exclude_unset=True)
        try:
            result = await gate.call(tool, arguments, context.conversation)
        except ApprovalNeeded as error:
            context.show(_aside(error))
            return WAITS
        except PostroomError as error:
            raise ToolError(f"[{error.code}] {error.message}", fix=error.fix) from error
        return json.dumps(result, ensure_ascii=False)

    waits = isinstance(gate, Approvals) and gate.needs_approval(tool)
    return Tool(
        name=tool.name,
        description=tool.description,
        arguments=tool.input,
        call=run,
        # What waits is kept by the approval itself; the journal would hide what the person must be shown.
        side_effect=tool.effect != "read" and not waits,
        reserved_for=AGENT_ID,
    )


def _aside(error: ApprovalNeeded) -> Aside:
    shown = error.preview if len(error.preview) <= SHOWN else f"{error.preview[:SHOWN]}\n…"
    fence = "~~~~"
    code = error.approval_id[-CODE:]
    return Aside(
        f"**{error.tool}** would do this:\n\n{fence}\n{shown}\n{fence}\n\nAnswer `approve {code}` or `refuse {code}`.",
        (Button(APPROVE, "Approve", error.approval_id), Button(REFUSE, "Refuse", error.approval_id)),
    )


KNOWN: Mapping[str, AnyTool] = {**BUILT_IN, **builder_tools(_Shut())}
"""Every tool that some agent could be granted, for listings and preflights."""
