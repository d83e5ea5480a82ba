"""What several tools take: an agent's id, and words for people on one line."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

from builder_skill.tools.tool import Shape


def _line(text: str) -> str:
    """One line with single spaces: it goes into a prompt, a listing and frontmatter."""
    line = " ".join(text.split())
    if not line:
        raise ValueError("must not be blank")
    if any(unicodedata.category(char) == "Cc" for char in line):
        raise ValueError("must not hold control characters")
    return line


Label = Annotated[str, Field(max_length=100), AfterValidator(_line)]
Description = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_line)]


class AgentId(Shape):
    """Which agent."""

    id: str = Field(description="the agent's id")
