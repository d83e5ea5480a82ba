"""A skill: a folder with SKILL.md. Read forgivingly, written strictly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Skill:
    """One SKILL.md. `allowed_tools` None means it does not narrow; `body` is the Markdown after the frontmatter."""

    name: str
    description: str
    body: str
    directory: Path
    allowed_tools: tuple[str, ...] | None = None
    sub_skills: tuple[str, ...] = ()
