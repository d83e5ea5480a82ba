"""Exactly the tools an agent was granted: their schemas for the model, and the way every call to them ends in a result.

Imports pydantic_ai, so it is imported only by what runs a model.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import structlog
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.tools import GenerateToolJsonSchema, ToolDefinition
from pydantic_core import from_json, to_json

from agents_runtime.effects import Effects
from agents_runtime.run import ModelFailed, ToolCallRecord
from agents_runtime.tokens import estimate_tokens
from agents_runtime.tools.tool import AnyTool, ToolContext, ToolError

log = structlog.get_logger()

SKILL_TOOL = "execute_skill"
"""The tool behind which a whole run may hide, side effects included: it never runs beside another."""

RESULT_LIMIT = 50_000
"""Characters of a tool's result that reach the model; a longer one would push everything else out of its sight."""

RECORD_LIMIT = 2_000
"""Characters of a result, or of a text argument, that a run's record keeps."""


class Refused(Exception):
    """A call that is answered without running anything. The message is told to the model."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """One call carried out or refused: what the model is told, and what the record keeps."""

    part: ToolReturnPart
    record: ToolCallRecord


class Toolset:
    """Tools by name. A name with characters that providers refuse (`reminder.add`) goes out as `reminder_add`."""

    def __init__(self, tools: Mapping[str, AnyTool]) -> None:
        self._tools = dict(tools)
        self._by_call = {_wire_name(name): tool for name, tool in tools.items()} | self._tools

    @cached_property
    def definitions(self) -> list[ToolDefinition]:
        """What the model is told about the tools."""
        return [_definition(name, tool) for name, tool in self._tools.items()]

    @cached_property
    def tokens(self) -> int:
        """About how many tokens the model reads about the tools."""
        told = to_json([(d.name, d.description, d.parameters_json_schema) for d in self.definitions])
        return estimate_tokens(told.decode())

    async def call_all(
        self, calls: Sequence[ToolCallPart], context: ToolContext, effects: Effects
    ) -> list[CallOutcome]:
        """Carry out the calls of one answer: side by side if none has a side effect, else in order."""
        if all(self._is_pure(call) for call in calls):
            return await asyncio.gather(*(self.call(call, context, effects) for call in calls))
        return [await self.call(call, context, effects) for call in calls]

    async def call(self, call: ToolCallPart, context: ToolContext, effects: Effects) -> CallOutcome:
        """Carry out one call. Whatever goes wrong in it becomes its result, `Error: …`.

        Raises only what must end the run: ModelFailed from a nested run, and what the journal raised.
        """
        started = time.perf_counter()
        ok = False
        try:
            tool = self._find(call.tool_name)
            result = await self._carry_out(tool, _arguments(tool, call), context, effects)
            ok = True
        except (Refused, ToolError) as error:
            result = f"Error: {error}"
        except Exception as error:
            if error is effects.broken or isinstance(error, ModelFailed):
                raise
            log.exception("tool_failed", tool=call.tool_name, agent=context.agent.id)
            result = f"Error: {call.tool_name} failed: {type(error).__name__}: {error}"
        # A file's undecodable bytes, or a name with them, can't go out as JSON.
        result = cut(result.encode(errors="replace").decode(), RESULT_LIMIT)
        return CallOutcome(
            # Never marked as failed: some providers would get it as JSON instead of the plain "Error: …".
            ToolReturnPart(call.tool_name, result, tool_call_id=call.tool_call_id),
            ToolCallRecord(
                tool=call.tool_name,
                arguments=_recorded(call),
                result=cut(result, RECORD_LIMIT),
                ok=ok,
                seconds=time.perf_counter() - started,
            ),
        )

    async def _carry_out(self, tool: AnyTool, arguments: BaseModel, context: ToolContext, effects: Effects) -> str:
        async def act() -> str:
            if not tool.touches_state:
                return await tool.call(context, arguments)
            async with context.guard(writes=tool.side_effect):
                return await tool.call(context, arguments)

        return await effects.once(tool.name, arguments, act) if tool.side_effect else await act()

    def _find(self, name: str) -> AnyTool:
        tool = self._by_call.get(name)
        if tool is None:
            names = ", ".join(_wire_name(name) for name in self._tools)
            raise Refused(
                f"there is no tool '{name}'. {f'Your tools are: {names}.' if names else 'You have no tools.'}"
            )
        return tool

    def _is_pure(self, call: ToolCallPart) -> bool:
        tool = self._by_call.get(call.tool_name)
        return tool is None or not (tool.side_effect or tool.name == SKILL_TOOL)


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and how long it was."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text)} characters in all]"


def _arguments(tool: AnyTool, call: ToolCallPart) -> BaseModel:
    model: type[BaseModel] = tool.arguments
    try:
        if isinstance(call.args, str) and call.args.strip():
            return model.model_validate_json(call.args)
        return model.model_validate(call.args or {})
    except ValidationError as error:
        faults = [
            f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}".removeprefix(": ")
            for fault in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise Refused(f"wrong arguments for {call.tool_name}: {'; '.join(faults)}.") from error


def _recorded(call: ToolCallPart) -> dict[str, JsonValue]:
    try:
        given = from_json(call.args) if isinstance(call.args, str) else call.args
    except ValueError:
        given = {"unreadable": call.args}
    if not isinstance(given, dict):
        return {}
    return {key: cut(value, RECORD_LIMIT) if isinstance(value, str) else value for key, value in given.items()}


def _wire_name(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)


def _definition(name: str, tool: AnyTool) -> ToolDefinition:
    model: type[BaseModel] = tool.arguments
    schema = model.model_json_schema(schema_generator=GenerateToolJsonSchema)
    # The class behind the arguments is nobody's business, and its name costs tokens.
    lean = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    return ToolDefinition(
        name=_wire_name(name), parameters_json_schema=lean, description=tool.description, strict=False
    )
