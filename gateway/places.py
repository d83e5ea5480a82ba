"""Where agents are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agents_runtime.registry import Root, bundled_root
from gateway.settings import Settings


def agent_roots(settings: Settings, project: str | None = None) -> Sequence[Root]:
    """The places of agents, from the least specific. A project's are only there when asked for."""
    roots = [Root(bundled_root(), "bundled"), Root(settings.agents_dir, "user")]
    if project is not None:
        base = Path(project).expanduser().absolute() / ".postroom"
        roots += [Root(base / "agents", "project"), Root(base / "agents.local", "project-local")]
    return roots
