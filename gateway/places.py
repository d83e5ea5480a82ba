"""Where agents are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agents_runtime.registry import Root, bundled_root
from agents_runtime.tree import Stamp, stamp_of
from builder_skill.system_skill import builder_root
from gateway.settings import Settings

_PLACES = TypeAdapter(list[Path])


def agent_roots(
    settings: Settings,
    project: str | None = None,
    *,
    declared: Sequence[Path] | None = None,
    serving: bool = False,
) -> Sequence[Root]:
    """The places of agents, from the least specific. A project's are only there when asked for.

    `declared` are the folders a postroom.yaml names; without it, those of the one that was applied last. Where gateways
    share a database, a published agent comes before the user's own to whoever is `serving`, and after it to the tools
    that change it.
    """
    roots = [Root(bundled_root(), "bundled"), Root(builder_root(), "bundled")]
    own = [Root(settings.agents_dir, "user")]
    shared = [Root(settings.published_dir, "published")] if settings.database_url else []
    roots += [*own, *shared] if serving else [*shared, *own]
    folders = declared_places(settings) if declared is None else declared
    roots += [Root(folder, "project") for folder in folders]
    if project is not None:
        base = Path(project).expanduser().absolute() / ".postroom"
        roots += [Root(base / "agents", "project"), Root(base / "agents.local", "project-local")]
    return roots


class Places:
    """The places of agents as they are now, for a process that stays: another one may apply a postroom.yaml."""

    def __init__(self, settings: Settings, project: str | None = None, *, serving: bool = False) -> None:
        self._settings = settings
        self._project = project
        self._serving = serving
        self._stamp: Stamp = None
        self._roots = agent_roots(settings, project, serving=serving)

    def __call__(self) -> Sequence[Root]:
        """The places, from the least specific."""
        stamp = stamp_of(str(_path(self._settings)))
        if stamp != self._stamp:
            self._stamp = stamp
            self._roots = agent_roots(self._settings, self._project, serving=self._serving)
        return self._roots


def declared_places(settings: Settings) -> list[Path]:
    """The folders of agents that the last applied postroom.yaml named."""
    try:
        return _PLACES.validate_json(_path(settings).read_bytes())
    except (OSError, ValidationError):
        return []


def remember_places(settings: Settings, folders: Sequence[Path]) -> None:
    """Keep the folders of agents that a postroom.yaml names."""
    if list(folders) != declared_places(settings):
        path = _path(settings)
        unfinished = path.with_suffix(".writing")
        unfinished.write_bytes(_PLACES.dump_json(list(folders)))
        unfinished.replace(path)


def _path(settings: Settings) -> Path:
    return settings.home / "places.json"
