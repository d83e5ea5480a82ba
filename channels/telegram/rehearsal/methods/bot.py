"""What every method works on: the world, the updates, the pace, and a user's ears."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from channels.telegram.rehearsal.pace import Pace
from channels.telegram.rehearsal.updates import Updates
from channels.telegram.rehearsal.world import World

Json = dict[str, Any]


class Said(Protocol):
    """Remembers what the bot said, for whoever listens."""

    async def __call__(self, chat: str, ref: str, text: str, method: str, **more: Any) -> None:
        """`more`: markup and buttons."""
        ...


@dataclass(frozen=True, slots=True)
class Bot:
    """The bot whose methods are called. `typing` is told where the bot is seen typing, and for how many seconds."""

    world: World
    updates: Updates
    pace: Pace
    said: Said
    typing: Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Result:
    """A result with the words that Telegram adds to some."""

    value: Any
    description: str


Method = Callable[[Bot, Json], Awaitable[Any]]
"""A method's result is plain JSON, or a Result. Raises ApiError."""
