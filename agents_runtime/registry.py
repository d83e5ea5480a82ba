"""Finding agents: several places, the nearest wins, and an edited file is seen without a restart."""

from __future__ import annotations

import bisect
import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agents_runtime.invalid import AgentInvalid
from agents_runtime.loader import load_manifest, load_package
from agents_runtime.manifest import AgentStatus, is_identifier
from agents_runtime.package import AgentPackage, Source
from agents_runtime.tools.grants import held_back
from agents_runtime.tools.tool import AnyTool
from agents_runtime.tree import MANIFEST, Stamp, Tree, settled, stamp_of, survey
from channels.errors import PostroomError

KEPT = 1_000
"""Loaded packages kept in memory; past it, all are forgotten and loaded again as they are needed."""

NEIGHBOURS = 250
"""Ids on either side, by alphabet, among which a mistyped one is looked for: comparing with all takes too long."""


class AgentMissing(PostroomError):
    """No place has a package of that id."""

    code = "agent_missing"


@dataclass(frozen=True, slots=True)
class Root:
    """A folder whose sub-folders are packages."""

    path: Path
    source: Source


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """One line of a listing. `problem` says why the agent can't run; `hides` which other places have the id."""

    id: str
    label: str
    description: str
    entry_skill: str
    status: AgentStatus | None
    source: Source
    hides: tuple[Source, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Listed:
    stamp: Stamp
    settled: bool
    entry: AgentEntry
    allowed_tools: tuple[str, ...] = ()


class Registry:
    """Agents by id. Nothing is read before it is asked for, and nothing again until it changed."""

    def __init__(self, roots: Sequence[Root]) -> None:
        """`roots` go from the least specific to the nearest."""
        self._roots = tuple(reversed(roots))
        self._loaded: dict[str, tuple[Tree, AgentPackage]] = {}
        self._listed: dict[str, _Listed] = {}

    def get(self, agent_id: str) -> AgentPackage:
        """The package of that id, as it is on disk now: a stat of each of its files, and no more where none changed.

        Raises AgentMissing or AgentInvalid.
        """
        places = [root for root in self._roots if _has(root, agent_id)] if is_identifier(agent_id) else []
        if not places:
            raise self._missing(agent_id)
        package = self._load(places[0], agent_id)
        hides = tuple(root.source for root in places[1:])
        return replace(package, hides=hides) if hides else package

    def ids(self) -> list[str]:
        """Every id there is, sorted."""
        return sorted(self._places())

    def entries(self, provided: Mapping[str, AnyTool] | None = None) -> list[AgentEntry]:
        """Every agent with where it came from. Reads manifests only.

        With the tools that are provided, an agent that needs another one says so in its `problem`.
        """
        listed: dict[str, _Listed] = {}
        entries: list[AgentEntry] = []
        for agent_id, places in sorted(self._places().items()):
            (root, stamp), *hidden = places
            directory = f"{root.path}/{agent_id}"
            known = self._listed.get(directory)
            if known is None or known.stamp != stamp or not known.settled:
                known = _listed(Path(directory), root.source, stamp)
            listed[directory] = known
            held = None if provided is None else held_back(agent_id, known.allowed_tools, provided)
            entry = known.entry if held is None else replace(known.entry, problem=str(held))
            entries.append(replace(entry, hides=tuple(r.source for r, _ in hidden)) if hidden else entry)
        self._listed = listed
        return entries

    def _places(self) -> dict[str, list[tuple[Root, Stamp]]]:
        """Ids with the places that have them, the nearest first, and the stamp of the manifest there."""
        found: dict[str, list[tuple[Root, Stamp]]] = {}
        for root in self._roots:
            for name in _names(root):
                stamp = stamp_of(f"{root.path}/{name}/{MANIFEST}")
                if stamp is not None:
                    found.setdefault(name, []).append((root, stamp))
        return found

    def _load(self, root: Root, agent_id: str) -> AgentPackage:
        directory = root.path / agent_id
        known = self._loaded.get(str(directory))
        if known is not None and known[0].unchanged():
            return known[1]
        tree = survey(directory)
        package = load_package(directory, root.source, tree)
        if len(self._loaded) >= KEPT:
            self._loaded.clear()
        self._loaded[str(directory)] = (tree, package)
        return package

    def _missing(self, agent_id: str) -> AgentMissing:
        names = sorted({name for root in self._roots for name in _names(root)})
        at = bisect.bisect(names, agent_id)
        near = difflib.get_close_matches(agent_id, names[max(0, at - NEIGHBOURS) : at + NEIGHBOURS], 3)
        fix = f"Did you mean {' or '.join(near)}?" if near else "`postroom agent list` shows what there is."
        return AgentMissing(f"There is no agent '{agent_id}'.", fix=fix)


def bundled_root() -> Path:
    """The folder of the packages that ship with Postroom."""
    return Path(__file__).parent / "bundled"


def _has(root: Root, agent_id: str) -> bool:
    return stamp_of(f"{root.path}/{agent_id}/{MANIFEST}") is not None


def _names(root: Root) -> list[str]:
    try:
        return [name for name in os.listdir(root.path) if is_identifier(name)]  # noqa: PTH208 - names are enough
    except OSError:
        return []  # a place that isn't there has no agents


def _listed(directory: Path, source: Source, stamp: Stamp) -> _Listed:
    sure = settled(stamp)
    try:
        manifest = load_manifest(directory)
    except AgentInvalid as error:
        return _Listed(stamp, sure, AgentEntry(directory.name, "", "", "", None, source, problem=str(error)))
    entry = AgentEntry(
        id=manifest.id,
        label=manifest.label,
        description=manifest.description,
        entry_skill=manifest.entry_skill,
        status=manifest.status,
        source=source,
    )
    return _Listed(stamp, sure, entry, manifest.allowed_tools)
