"""Finding agents: several places, the nearest wins, and an edited file is seen without a restart."""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agents_runtime.forms import Found, Root, find, ids, names_in
from agents_runtime.invalid import AgentInvalid
from agents_runtime.loader import load_manifest, load_package
from agents_runtime.manifest import AgentStatus, is_identifier
from agents_runtime.package import AgentPackage, Source
from agents_runtime.single import load_single, load_single_manifest
from agents_runtime.tools.grants import held_back, open_to
from agents_runtime.tools.tool import AnyTool
from agents_runtime.tree import MANIFEST, Stamp, Tree, settled, survey
from channels.errors import PostroomError

KEPT = 1_000
"""Loaded packages kept in memory; past it, all are forgotten and loaded again as they are needed."""

NEIGHBOURS = 250
"""Ids on either side, by alphabet, among which a mistyped one is looked for: comparing with all takes too long."""


__all__ = ["AgentEntry", "AgentMissing", "Registry", "Root", "bundled_root"]


class AgentMissing(PostroomError):
    """No place has a package of that id."""

    code = "agent_missing"


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

    def __init__(self, roots: Sequence[Root] | Callable[[], Sequence[Root]]) -> None:
        """`roots` go from the least specific to the nearest; asked for each time where they can change."""
        self._given = roots
        self._loaded: dict[str, tuple[Tree, AgentPackage]] = {}
        self._listed: dict[str, _Listed] = {}

    def get(self, agent_id: str) -> AgentPackage:
        """The package of that id, as it is on disk now: a stat of each of its files, and no more where none changed.

        Raises AgentMissing or AgentInvalid.
        """
        places = [place for root in self._roots for place in find(root, agent_id)] if is_identifier(agent_id) else []
        if not places:
            raise self._missing(agent_id)
        package = self._load(places[0])
        hides = tuple(place.source for place in places[1:])
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
            nearest, *hidden = places
            file = f"{nearest.base}/{nearest.manifest}"
            known = self._listed.get(file)
            if known is None or known.stamp != nearest.stamp or not known.settled or nearest.others:
                known = _listed(nearest)
            listed[file] = known
            reachable = None if provided is None else open_to(agent_id, nearest.source, provided)
            held = None if reachable is None else held_back(agent_id, known.allowed_tools, reachable)
            entry = known.entry if held is None else replace(known.entry, problem=str(held))
            entries.append(replace(entry, hides=tuple(place.source for place in hidden)) if hidden else entry)
        self._listed = listed
        return entries

    @property
    def _roots(self) -> Sequence[Root]:
        return tuple(reversed(self._given() if callable(self._given) else self._given))

    def _places(self) -> dict[str, list[Found]]:
        """Ids with where they are, the nearest first."""
        found: dict[str, list[Found]] = {}
        for root in self._roots:
            names = names_in(root)
            for name in ids(root, names):
                places = [*find(root, name, names)]
                if places:
                    found.setdefault(name, []).extend(places)
        return found

    def _load(self, place: Found) -> AgentPackage:
        unclear = place.unclear()
        if unclear is not None:
            raise unclear
        file = f"{place.base}/{place.manifest}"
        known = self._loaded.get(file)
        if known is not None and known[0].unchanged():
            return known[1]
        tree = survey(place.base, place.manifest, place.skills)
        package = (
            load_package(place.base, place.source, tree) if place.manifest == MANIFEST else load_single(place, tree)
        )
        if len(self._loaded) >= KEPT:
            self._loaded.clear()
        self._loaded[file] = (tree, package)
        return package

    def _missing(self, agent_id: str) -> AgentMissing:
        names = sorted({name for root in self._roots for name in ids(root, names_in(root))})
        at = bisect.bisect(names, agent_id)
        near = difflib.get_close_matches(agent_id, names[max(0, at - NEIGHBOURS) : at + NEIGHBOURS], 3)
        fix = f"Did you mean {' or '.join(near)}?" if near else "`postroom agent list` shows what there is."
        return AgentMissing(f"There is no agent '{agent_id}'.", fix=fix)


def bundled_root() -> Path:
    """The folder of the packages that ship with Postroom."""
    return Path(__file__).parent / "bundled"


def _listed(place: Found) -> _Listed:
    sure = settled(place.stamp)
    try:
        unclear = place.unclear()
        if unclear is not None:
            raise unclear
        manifest = load_manifest(place.base) if place.manifest == MANIFEST else load_single_manifest(place)
    except AgentInvalid as error:
        entry = AgentEntry(place.directory.name, "", "", "", None, place.source, problem=str(error))
        return _Listed(place.stamp, sure, entry)
    entry = AgentEntry(
        id=manifest.id,
        label=manifest.label,
        description=manifest.description,
        entry_skill=manifest.entry_skill,
        status=manifest.status,
        source=place.source,
    )
    return _Listed(place.stamp, sure, entry, manifest.allowed_tools)
