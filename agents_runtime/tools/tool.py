"""What a tool is: a name, arguments as a pydantic model, and a function over the context of one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from agents_runtime.package import AgentPackage
from channels.errors import PostroomError
from channels.message import Button, Conversation

Arguments = TypeVar("Arguments", bound=BaseModel)


class ToolError(PostroomError):
    """A tool could not do what was asked. The message and the fix are told to the model, which may try otherwise."""

    code = "tool_error"


@dataclass(frozen=True, slots=True)
class Aside:
    """What a tool shows the person itself, under the answer and untouched by the model."""

    text: str
    buttons: tuple[Button, ...] = ()


class StateGuard(Protocol):
    """Stands around each tool call that touches state: before it the folder is as it is everywhere, after it what was
    written is so everywhere too. Raises a ToolError where somebody else wrote the same meanwhile."""

    def __call__(self, *, writes: bool) -> AbstractAsyncContextManager[None]:
        """Enter before the call, leave after it."""
        ...


class Unguarded:
    """The guard of a folder that nobody else has."""

    def __call__(self, *, writes: bool) -> AbstractAsyncContextManager[None]:
        """Nothing to do."""
        return nullcontext()


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may touch in one run. `run_skill(name, input)` runs a sub-skill and returns its answer.

    `conversation` is where the turn came from; `show` puts something under the answer; `guard` goes around what
    touches `state_dir`.
    """

    agent: AgentPackage
    state_dir: Path
    run_skill: Callable[[str, str], Awaitable[str]]
    inbox: Path | None = None
    conversation: Conversation | None = None
    show: Callable[[Aside], None] = lambda _aside: None
    guard: StateGuard = Unguarded()


@dataclass(frozen=True, slots=True)
class Tool(Generic[Arguments]):
    """One tool. `side_effect` True means a finished call is journalled and not repeated when a turn is retried.

    `touches_state` True means that it reads or writes files of `state_dir`.
    `reserved_for` names the one bundled agent that may be granted it; to every other it is not there.
    """

    name: str
    description: str
    arguments: type[Arguments]
    call: Callable[[ToolContext, Arguments], Awaitable[str]]
    side_effect: bool = False
    reserved_for: str = ""
    touches_state: bool = False


AnyTool = Tool[Any]
"""A tool whose arguments are checked by its own model, not by the caller's types."""
