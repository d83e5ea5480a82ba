"""Finding agents: several places, the nearest wins, and an edited file is seen without a restart."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agents_runtime.loader import AgentInvalid, load_manifest, load_package, watched
from agents_runtime.manifest import AgentStatus, Manifest, is_identifier
from agents_runtime.package import AgentPackage, Source
from channels.errors import PostroomError

Stamp = tuple[int, int, int] | None
"""What changes when a file does: modification time, size, inode; None where there is no file."""


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
    """One line of a listing. `problem` says why the agent can't be loaded; `hides` which other places have the id."""

    id: str
    label: str
    description: str
    entry_skill: str
    status: AgentStatus | None
    source: Source
    hides: tuple[Source, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Loaded:
    package: AgentPackage
    stamps: tuple[tuple[Path, Stamp], ...]


class Registry:
    """Agents by id. Nothing is read before it is asked for, and nothing again until it changed."""

    def __init__(self, roots: Sequence[Root]) -> None:
        """`roots` go from the least specific to the nearest."""
        self._roots = tuple(reversed(roots))
        self._loaded: dict[Path, _Loaded] = {}
        self._manifests: dict[Path, tuple[Stamp, Manifest]] = {}

    def get(self, agent_id: str) -> AgentPackage:
        """The package of that id, as it is on disk now. Raises AgentMissing or AgentInvalid."""
        if is_identifier(agent_id):
            for number, root in enumerate(self._roots):
                directory = root.path / agent_id
                if _stamp(directory / "agent.json") is not None:
                    package = self._load(directory, root.source)
                    hides = tuple(
                        r.source for r in self._roots[number + 1 :] if _stamp(r.path / agent_id / "agent.json")
                    )
                    return replace(package, hides=hides) if hides else package
        near = difflib.get_close_matches(agent_id, self.ids(), 3)
        fix = f"Did you mean {' or '.join(near)}?" if near else "`postroom agent list` shows what there is."
        raise AgentMissing(f"There is no agent '{agent_id}'.", fix=fix)

    def ids(self) -> list[str]:
        """Every id there is, sorted."""
        return sorted(self._places())

    def entries(self) -> list[AgentEntry]:
        """Every agent with where it came from. Reads manifests only."""
        return [self._entry(agent_id, places) for agent_id, places in sorted(self._places().items())]

    def _places(self) -> dict[str, list[Root]]:
        """Ids with the places that have them, the nearest first."""
        found: dict[str, list[Root]] = {}
        for root in self._roots:
            try:
                entries = list(os.scandir(root.path))
            except OSError:
                continue  # a place that isn't there has no agents
            for entry in entries:
                if is_identifier(entry.name) and entry.is_dir() and Path(entry.path, "agent.json").exists():
                    found.setdefault(entry.name, []).append(root)
        return found

    def _entry(self, agent_id: str, places: Sequence[Root]) -> AgentEntry:
        root, hides = places[0], tuple(p.source for p in places[1:])
        try:
            manifest = self._manifest(root.path / agent_id)
        except AgentInvalid as error:
            return AgentEntry(agent_id, "", "", "", None, root.source, hides, str(error))
        return AgentEntry(
            id=agent_id,
            label=manifest.label,
            description=manifest.description,
            entry_skill=manifest.entry_skill,
            status=manifest.status,
            source=root.source,
            hides=hides,
        )

    def _manifest(self, directory: Path) -> Manifest:
        stamp = _stamp(directory / "agent.json")
        known = self._manifests.get(directory)
        if known is not None and known[0] == stamp:
            return known[1]
        manifest = load_manifest(directory)
        self._manifests[directory] = (stamp, manifest)
        return manifest

    def _load(self, directory: Path, source: Source) -> AgentPackage:
        known = self._loaded.get(directory)
        if known is not None and all(_stamp(path) == stamp for path, stamp in known.stamps):
            return known.package
        package = load_package(directory, source)
        stamps = tuple((path, _stamp(path)) for path in watched(package))
        self._loaded[directory] = _Loaded(package, stamps)
        return package


def bundled_root() -> Path:
    """The folder of the packages that ship with Postroom."""
    return Path(__file__).parent / "bundled"


def _stamp(path: Path) -> Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116 - the hot path of every message
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
