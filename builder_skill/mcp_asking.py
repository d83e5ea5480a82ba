"""Asking the person at an MCP client for their yes, where the client can ask."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import is_version_at_least

from builder_skill.gate import ApprovalNeeded

Context = ServerRequestContext[Any, Any]

KEY = "approval"

SHOWN_MAX = 20_000
"""Characters of a preview that a client is asked to show; a longer one is not cut, it waits to be read elsewhere."""

RETRIES_SINCE = "2026-07-28"
"""Since this revision of the protocol a question goes out as a result, and its answer comes back with the call."""


def can_ask(ctx: Context, waits: ApprovalNeeded) -> bool:
    """Whether the client shows forms, and the whole preview fits into one."""
    capabilities = ctx.session.client_capabilities
    forms = None if capabilities is None else capabilities.elicitation
    # A bare `elicitation: {}` is from before there were modes, and means forms.
    return forms is not None and (forms.form is not None or forms.url is None) and len(waits.preview) <= SHOWN_MAX


async def ask(
    ctx: Context, params: types.CallToolRequestParams, waits: ApprovalNeeded
) -> types.InputRequiredResult | bool | None:
    """What the person said: yes, no, or None where they left it open. Or the question, to be sent as the result."""
    question = types.ElicitRequestFormParams(
        message=f"{waits.tool} would do this:\n\n{waits.preview}\n\nAccept to have exactly this done.",
        requested_schema={"type": "object", "properties": {}},
    )
    if is_version_at_least(ctx.protocol_version, RETRIES_SINCE):
        answer = (params.input_responses or {}).get(KEY)
        # The state names what was shown: an answer that comes with another, or none, is not about this change.
        if params.request_state != waits.approval_id or not isinstance(answer, types.ElicitResult):
            request = types.ElicitRequest(params=question)
            return types.InputRequiredResult(input_requests={KEY: request}, request_state=waits.approval_id)
        return _meant(answer)
    try:
        return _meant(
            await ctx.session.elicit_form(
                question.message, question.requested_schema, related_request_id=ctx.request_id
            )
        )
    except MCPError:  # the client could not ask after all
        return None


def _meant(answer: types.ElicitResult) -> bool | None:
    return {"accept": True, "decline": False, "cancel": None}[answer.action]
