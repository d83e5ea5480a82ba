"""An agent package as loaded: the manifest, its skills, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agents_runtime.manifest import Manifest
from agents_runtime.skill import Skill

Source = Literal["bundled", "published", "user", "project", "project-local"]


@dataclass(frozen=True, slots=True)
class AgentPackage:
    """One loaded package. `revision` changes with any byte of the manifest or the skills, never with state.

    `skills` holds the entry skill and every declared sub-skill, by name. `hides` names the sources of packages with
    the same id that this one wins over.
    """

    manifest: Manifest
    directory: Path
    source: Source
    skills: dict[str, Skill]
    revision: str
    hides: tuple[Source, ...] = ()

    @property
    def id(self) -> str:
        """The agent's id."""
        return self.manifest.id

    @property
    def entry(self) -> Skill:
        """The entry skill, embedded in the prompt."""
        return self.skills[self.manifest.entry_skill]
