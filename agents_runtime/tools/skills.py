"""The tool that runs a sub-skill."""

from __future__ import annotations

from pydantic import BaseModel, Field

from agents_runtime.tools.tool import Tool, ToolContext


class ExecuteArguments(BaseModel):
    """Arguments of `execute_skill`."""

    name: str = Field(description="a sub-skill's name")
    input: str = Field(description="all it needs to know; beside images it sees nothing else")


async def _execute(context: ToolContext, arguments: ExecuteArguments) -> str:
    return await context.run_skill(arguments.name, arguments.input)


EXECUTE_SKILL = Tool("execute_skill", "Run a sub-skill on an input and get its answer.", ExecuteArguments, _execute)
