"""Faults on demand: what a provider does on a bad day."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

When = Literal["before", "after"]
Event = TypeVar("Event")


class Fault(BaseModel):
    """What goes wrong the next `times` calls of a method (`*`: any).

    `status` is answered instead of acting; `drop` closes the connection without an answer, `before` or `after` acting
    (`"drop": true` says it too, with `when`); `delay` seconds come first. For events on their way to the bot:
    `duplicate` delivers the next one twice, `reorder` holds it back until another one has gone first.
    """

    model_config = ConfigDict(extra="forbid")

    method: str = "*"
    times: int = Field(default=1, ge=1)
    status: int | None = Field(default=None, ge=400, le=599)
    description: str = ""
    retry_after: float | None = Field(default=None, ge=0.0)
    delay: float = Field(default=0.0, ge=0.0, le=300.0)
    drop: When | None = None
    duplicate: bool = False
    reorder: bool = False

    @model_validator(mode="before")
    @classmethod
    def _drop_and_when(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("drop"), bool):
            given = dict(given)
            when = given.pop("when", "before")
            given["drop"] = when if given["drop"] else None
        return given

    @model_validator(mode="after")
    def _something_goes_wrong(self) -> Self:
        if self.status is None and self.drop is None and not (self.delay or self.duplicate or self.reorder):
            raise ValueError("a fault needs one of status, drop, delay, duplicate, reorder")
        return self

    @property
    def of_events(self) -> bool:
        """Whether it is about events to the bot rather than the bot's calls."""
        return self.duplicate or self.reorder


class Faults:
    """The faults that are set, used up in order."""

    def __init__(self) -> None:
        self._set: list[Fault] = []
        self._held: list[Any] = []

    def add(self, fault: Fault) -> None:
        """Set one more."""
        self._set.append(fault.model_copy())

    def clear(self) -> None:
        """Take all away. An event that is held back goes with the next one."""
        self._set.clear()

    def forget(self) -> None:
        """Take all away, and what is held back with them."""
        self._set.clear()
        self._held.clear()

    def take(self, method: str) -> Fault | None:
        """The fault for this call, if one is set. Names of methods are compared whatever their case."""
        if not self._set:
            return None
        wanted = ("*", method.lower())
        return self._use(lambda fault: not fault.of_events and fault.method.lower() in wanted)

    def duplicates(self) -> bool:
        """Whether the next event goes out twice."""
        return self._use(lambda fault: fault.duplicate) is not None

    def reordered(self, event: Event) -> list[Event]:
        """The events to deliver now that this one happened, in their order: none while it is held back."""
        if self._use(lambda fault: fault.reorder) is not None:
            self._held.append(event)
            return []
        held, self._held = self._held, []
        return [event, *held]

    def _use(self, fits: Callable[[Fault], bool]) -> Fault | None:
        for fault in self._set:
            if fits(fault):
                fault.times -= 1
                if fault.times == 0:
                    self._set.remove(fault)
                return fault
        return None
