"""The builder's tools as an MCP server. Imports mcp, which takes half a second: only `postroom mcp` does."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue

from builder_skill.gate import ApprovalNeeded, AskingGate
from builder_skill.mcp_asking import ask, can_ask
from builder_skill.system_skill import NAME, skill_text
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import AnyBuilderTool, find
from channels.errors import PostroomError

log = logging.getLogger(__name__)

SKILL_URI = f"skill://{NAME}/SKILL.md"

INSTRUCTIONS = (
    f"Tools that make, check and deploy Postroom channel agents. Read the prompt or resource '{NAME}' before the first "
    "call: it has the flow and the rules. A change may wait for the owner's approval; then call again, unchanged."
)

Context = ServerRequestContext[Any, Any]


def build_server(gate: AskingGate, version: str, *, redact: Callable[[str], str], ask_client: bool) -> Server[Any]:
    """The server; every call goes through `gate`, and every error through `redact`.

    With `ask_client` the person at the client may say yes there, where it can ask them.
    """

    async def list_tools(_ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in CATALOGUE.values()])

    async def call_tool(
        ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            return await carry_out(ctx, params)
        except PostroomError as error:
            return _failed(error.code, redact(error.message), redact(error.fix))
        except Exception:  # whatever it says could name what a model should not see
            log.exception("%s failed", params.name)
            return _failed("internal", "The tool failed.", "Ask the owner to look at the log of postroom mcp.")

    async def carry_out(
        ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool, arguments = find(CATALOGUE, params.name), params.arguments or {}
        try:
            return _done(await gate.call(tool, arguments))
        except ApprovalNeeded as waits:
            if not ask_client or not can_ask(ctx, waits):
                raise
            said = await ask(ctx, params, waits)
            if said is None:
                raise
            if isinstance(said, types.InputRequiredResult):
                return said
            await gate.decide(waits.approval_id, yes=said, by="mcp client")
        return _done(await gate.call(tool, arguments))

    async def list_resources(_ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        resource = types.Resource(
            uri=SKILL_URI, name=NAME, title="Channel agent builder", mime_type="text/markdown", description=INSTRUCTIONS
        )
        return types.ListResourcesResult(resources=[resource])

    async def read_resource(_ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if str(params.uri) != SKILL_URI:
            raise MCPError(types.INVALID_PARAMS, f"There is no resource {params.uri}; there is {SKILL_URI}.")
        text = types.TextResourceContents(uri=SKILL_URI, mime_type="text/markdown", text=skill_text())
        return types.ReadResourceResult(contents=[text])

    async def list_prompts(_ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        wish = types.PromptArgument(name="wish", description="what to build", required=False)
        prompt = types.Prompt(name=NAME, title="Build a channel agent", description=INSTRUCTIONS, arguments=[wish])
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(_ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != NAME:
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name}; there is {NAME}.")
        wish = (params.arguments or {}).get("wish", "")
        text = f"{skill_text()}\n\n{wish}".strip()
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=INSTRUCTIONS, messages=[message])

    return Server(
        "postroom",
        version=version,
        title="Postroom",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _described(tool: AnyBuilderTool) -> types.Tool:
    return types.Tool.model_validate(tool.describe())


def _done(result: dict[str, JsonValue]) -> types.CallToolResult:
    text = json.dumps(result, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=result)


def _failed(code: str, message: str, fix: str) -> types.CallToolResult:
    told = {"error": {"code": code, "message": message, "fix": fix}}
    text = types.TextContent(type="text", text=json.dumps(told, ensure_ascii=False))
    return types.CallToolResult(content=[text], is_error=True)
