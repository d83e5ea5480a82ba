"""What is wrong with a package: the file, the line where it is known, and what to do about it."""

from __future__ import annotations

from channels.errors import PostroomError


class AgentInvalid(PostroomError):
    """A package that can't be loaded. `file` is relative to its folder; `line` counts from 1, 0 where unknown."""

    code = "agent_invalid"

    def __init__(self, message: str, *, file: str, line: int = 0, fix: str = "") -> None:
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {message}", fix=fix)
        self.file = file
        self.line = line
