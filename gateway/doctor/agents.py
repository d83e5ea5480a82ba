"""The agents: which can't run, which hide another, and what is wrong in those that people reach."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice

from agents_runtime.package import Source
from agents_runtime.registry import AgentEntry, Registry
from builder_skill.workspace.checks import check_package
from channels.adapter import Finding
from channels.errors import PostroomError
from gateway.builder import KNOWN
from gateway.settings import Settings

SHOWN = 20
"""Agents with the same trouble that are named one by one."""

OTHERS: frozenset[Source] = frozenset({"project", "project-local"})
"""Places of packages that somebody else wrote."""


def about_agents(settings: Settings, registry: Registry, served: Set[str]) -> list[Finding]:
    """`served` are the agents with a live route: their files are read, all others' manifests."""
    entries = registry.entries(KNOWN)
    return [
        Finding("agents", True, f"{len(entries)} agent(s) found."),
        *islice(_broken(entries), SHOWN),
        *islice(_hiding(entries), SHOWN),
        *_files(settings, registry, served),
    ]


def _broken(entries: list[AgentEntry]) -> Iterator[Finding]:
    for entry in entries:
        if entry.problem:
            text = f"Agent '{entry.id}' can't run: {entry.problem}"
            yield Finding("agent", False, text, f"postroom agent show {entry.id}")


def _hiding(entries: list[AgentEntry]) -> Iterator[Finding]:
    for entry in entries:
        if entry.hides:
            text = f"Agent '{entry.id}' is the {entry.source} one; it hides the {' and '.join(entry.hides)} one."
            fix = "Give it another id, unless that is meant." if entry.source in OTHERS else ""
            yield Finding("agent_hides", True, text, fix)


def _files(settings: Settings, registry: Registry, served: Set[str]) -> Iterator[Finding]:
    """What `agent validate` would say of the user's own packages in service."""
    for agent_id in sorted(served):
        try:
            package = registry.get(agent_id)
        except PostroomError:
            continue
        if package.source != "user" or not package.directory.is_relative_to(settings.agents_dir):
            continue
        errors = [check for check in check_package(package.directory, KNOWN) if check.severity == "error"]
        if errors:
            place = f"{errors[0].file}:{errors[0].line}" if errors[0].line else errors[0].file
            text = f"Agent '{agent_id}' has {len(errors)} error(s); {place}: {errors[0].message}"
            yield Finding("agent_files", False, text, f"postroom agent validate {agent_id}")
