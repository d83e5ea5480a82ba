"""What a builder tool is: pydantic models in and out, what it does to the world, and one way to call it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from builder_skill.desk import Desk
from channels.errors import PostroomError

Effect = Literal["read", "write", "destructive"]
"""`write` adds or changes; `destructive` takes away or replaces something that may be in use."""


class ToolUnknown(PostroomError):
    """There is no builder tool of that name."""

    code = "tool_unknown"


class ArgumentsInvalid(PostroomError):
    """The arguments don't fit the tool's input."""

    code = "arguments_invalid"


class Shape(BaseModel):
    """Base of inputs and outputs: camelCase outside, unknown fields refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


Input = TypeVar("Input", bound=Shape)
Output = TypeVar("Output", bound=Shape)


@dataclass(frozen=True, slots=True)
class BuilderTool(Generic[Input, Output]):
    """One tool. `preview` shows what a write would change, as lines for the person who approves it."""

    name: str
    description: str
    effect: Effect
    input: type[Input]
    output: type[Output]
    run: Callable[[Desk, Input], Awaitable[Output]]
    preview: Callable[[Desk, Input], Awaitable[str]] | None = None

    def describe(self) -> dict[str, JsonValue]:
        """Name, schemas and annotations, as MCP writes them."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input.model_json_schema(by_alias=True),
            "outputSchema": self.output.model_json_schema(by_alias=True, mode="serialization"),
            "annotations": {
                "readOnlyHint": self.effect == "read",
                "destructiveHint": self.effect == "destructive",
                "openWorldHint": False,
            },
        }


AnyBuilderTool = BuilderTool[Any, Any]
"""A tool whose input is checked by its own model, not by the caller's types."""


def find(catalogue: Mapping[str, AnyBuilderTool], name: str) -> AnyBuilderTool:
    """The tool of that name. Raises ToolUnknown with the nearest names."""
    tool = catalogue.get(name)
    if tool is None:
        near = difflib.get_close_matches(name, catalogue, 3)
        fix = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(catalogue)}."
        raise ToolUnknown(f"There is no tool '{name}'.", fix=fix)
    return tool


def read_input(tool: AnyBuilderTool, arguments: Mapping[str, JsonValue]) -> Shape:
    """The arguments as the tool's input. Raises ArgumentsInvalid, which names fields and never their values."""
    model: type[Shape] = tool.input
    try:  # Python's parser lets through NaN and half a surrogate pair, which no file or answer could hold.
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        fix = "Send numbers and text that JSON and UTF-8 can hold."
        raise ArgumentsInvalid(f"{tool.name}: the arguments are not JSON.", fix=fix) from error
    try:
        return model.model_validate(arguments, by_alias=True, by_name=False)
    except ValidationError as error:
        faults = [_fault(model, fault["type"], fault["loc"], fault["msg"]) for fault in error.errors()]
        fix = f"The arguments are: {', '.join(_names(model)) or 'none'}."
        raise ArgumentsInvalid(f"{tool.name}: {'; '.join(faults)}.", fix=fix) from error


async def call(tool: AnyBuilderTool, desk: Desk, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Run a tool on JSON arguments and return JSON. Raises ArgumentsInvalid, and what the tool raises."""
    result: Shape = await tool.run(desk, read_input(tool, arguments))
    return result.model_dump(mode="json", by_alias=True)


def _fault(model: type[Shape], kind: str, loc: tuple[int | str, ...], message: str) -> str:
    where = ".".join(str(part) for part in loc)
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(loc[-1]), _names(model), 1) if len(loc) == 1 else []
        return f"there is no argument '{where}'" + (f", did you mean '{near[0]}'" if near else "")
    return f"{where}: {message}" if where else message


def _names(model: type[Shape]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]
