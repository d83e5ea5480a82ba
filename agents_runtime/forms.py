"""The forms an agent comes in on disk: a folder with `agent.json`, a folder with `agent.md`, or one Markdown file."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from agents_runtime.invalid import AgentInvalid
from agents_runtime.manifest import is_identifier
from agents_runtime.package import Source
from agents_runtime.tree import DEFINITION, MANIFEST, SKILLS, Stamp, stamp_of

LOCAL = ".local.md"
"""What a file in a project's folder ends with that is a person's own, and hides the shared one."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of agents."""

    path: Path
    source: Source


@dataclass(frozen=True, slots=True)
class Found:
    """One agent in one place. `manifest` and `skills` are counted from `base`; `stamp` is the manifest's.

    `directory` is the agent's own folder, which a single file need not have. `others` are the manifests beside this one
    that claim the same id in the same place.
    """

    base: Path
    manifest: str
    skills: str
    directory: Path
    source: Source
    stamp: Stamp
    others: tuple[str, ...] = ()

    def unclear(self) -> AgentInvalid | None:
        """Why it can't be told which agent is meant, or None where there is one only."""
        if not self.others:
            return None
        return AgentInvalid(
            f"{' and '.join(self.others)} has the same id.", file=self.manifest, fix="Keep one of them."
        )


def find(root: Root, agent_id: str, names: Container[str] | None = None) -> Iterator[Found]:
    """An agent in one place, the nearest first: a project's folder may have a personal file beside the shared one.

    With the `names` that the place has, nothing is looked for that isn't among them.
    """
    if root.source == "project":
        yield from _file(root, agent_id, f"{agent_id}{LOCAL}", "project-local", names)
    found = [*_folder(root, agent_id, names), *_file(root, agent_id, f"{agent_id}.md", root.source, names)]
    if found:
        first, *rest = found
        yield replace(first, others=tuple(other.manifest for other in rest))


def names_in(root: Root) -> set[str]:
    """Everything in a place, by name; nothing is looked into."""
    try:
        return set(os.listdir(root.path))  # noqa: PTH208 - names are enough
    except OSError:
        return set()  # a place that isn't there has no agents


def ids(root: Root, names: Iterable[str]) -> set[str]:
    """The ids that may have an agent in a place with these names."""
    ends = (LOCAL, ".md") if root.source == "project" else (".md",)
    plain = {next((name.removesuffix(end) for end in ends if name.endswith(end)), name) for name in names}
    return {name for name in plain if is_identifier(name)}


def _folder(root: Root, agent_id: str, names: Container[str] | None) -> Iterator[Found]:
    if names is None or agent_id in names:
        for name in (MANIFEST, DEFINITION):
            stamp = stamp_of(f"{root.path}/{agent_id}/{name}")
            if stamp is not None:
                yield Found(root.path / agent_id, name, SKILLS, root.path / agent_id, root.source, stamp)


def _file(root: Root, agent_id: str, name: str, source: Source, names: Container[str] | None) -> Iterator[Found]:
    if names is None or name in names:
        stamp = stamp_of(f"{root.path}/{name}")
        if stamp is not None:
            yield Found(root.path, name, f"{agent_id}/{SKILLS}", root.path / agent_id, source, stamp)
