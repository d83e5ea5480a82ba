"""The builder's tools as an MCP server. Imports mcp, which takes half a second: only `postroom mcp` does."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from pydantic import JsonValue

from builder_skill.gate import Gate
from builder_skill.system_skill import NAME, skill_text
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import AnyBuilderTool, find
from channels.errors import PostroomError

SKILL_URI = f"skill://{NAME}/SKILL.md"

INSTRUCTIONS = (
    f"Tools that make, check and deploy Postroom channel agents. Read the prompt or resource '{NAME}' before the first "
    "call: it has the flow and the rules. A change may wait for the owner's approval; then call again, unchanged."
)

Context = ServerRequestContext[Any, Any]


def build_server(gate: Gate, version: str) -> Server[Any]:
    """The server; every call goes through `gate`."""

    async def list_tools(_ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in CATALOGUE.values()])

    async def call_tool(_ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            result = await gate.call(find(CATALOGUE, params.name), params.arguments or {})
        except PostroomError as error:
            return _failed(error)
        text = json.dumps(result, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=result)

    async def list_resources(_ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        resource = types.Resource(
            uri=SKILL_URI, name=NAME, title="Channel agent builder", mime_type="text/markdown", description=INSTRUCTIONS
        )
        return types.ListResourcesResult(resources=[resource])

    async def read_resource(_ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if str(params.uri) != SKILL_URI:
            raise ValueError(f"There is no resource {params.uri}; there is {SKILL_URI}.")
        text = types.TextResourceContents(uri=SKILL_URI, mime_type="text/markdown", text=skill_text())
        return types.ReadResourceResult(contents=[text])

    async def list_prompts(_ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        wish = types.PromptArgument(name="wish", description="what to build", required=False)
        prompt = types.Prompt(name=NAME, title="Build a channel agent", description=INSTRUCTIONS, arguments=[wish])
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(_ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != NAME:
            raise ValueError(f"There is no prompt {params.name}; there is {NAME}.")
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


def _failed(error: PostroomError) -> types.CallToolResult:
    told: dict[str, JsonValue] = {"error": {"code": error.code, "message": error.message, "fix": error.fix}}
    text = types.TextContent(type="text", text=json.dumps(told, ensure_ascii=False))
    return types.CallToolResult(content=[text], is_error=True)
