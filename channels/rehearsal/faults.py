"""Faults on demand: what a provider does on a bad day."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Fault(BaseModel):
    """What goes wrong the next `times` calls of a method (`*`: any).

    `status` is answered instead of acting; `drop` closes the connection without an answer, `before` or `after` acting;
    `delay` seconds come first. For events going out, the method is `event` with `duplicate`.
    """

    model_config = ConfigDict(extra="forbid")

    method: str = "*"
    times: int = Field(default=1, ge=1)
    status: int | None = Field(default=None, ge=400, le=599)
    description: str = ""
    retry_after: float | None = None
    delay: float = Field(default=0.0, ge=0.0, le=300.0)
    drop: Literal["before", "after"] | None = None
    duplicate: bool = False


class Faults:
    """The faults that are set, used up in order."""

    def __init__(self) -> None:
        self._set: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Set one more."""
        self._set.append(fault.model_copy())

    def clear(self) -> None:
        """Take all away."""
        self._set.clear()

    def take(self, method: str) -> Fault | None:
        """The fault for this call, if one is set."""
        for fault in self._set:
            if fault.method in ("*", method) and not fault.duplicate:
                return self._use(fault)
        return None

    def duplicates(self) -> bool:
        """Whether the next event goes out twice."""
        for fault in self._set:
            if fault.duplicate:
                self._use(fault)
                return True
        return False

    def _use(self, fault: Fault) -> Fault:
        fault.times -= 1
        if fault.times == 0:
            self._set.remove(fault)
        return fault
