"""What an agent is granted: names and families, and what happens when nobody provides one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents_runtime.package import AgentPackage, Source
from agents_runtime.tools.tool import AnyTool
from channels.errors import PostroomError


class AgentHeldBack(PostroomError):
    """A tool that the agent needs is not provided. `missing` are the grants that nobody provides."""

    code = "agent_held_back"

    def __init__(self, message: str, *, missing: tuple[str, ...], fix: str) -> None:
        super().__init__(message, fix=fix)
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Grants:
    """The tools granted, by name, and the required grants that nobody provides."""

    tools: dict[str, AnyTool]
    missing: tuple[str, ...]


def resolve_grants(allowed: Sequence[str], provided: Mapping[str, AnyTool]) -> Grants:
    """Resolve each grant: a name (`read`), a family (`reminder.*`), or either with `?`: skipped if nobody has it."""
    tools: dict[str, AnyTool] = {}
    missing: list[str] = []
    for grant in allowed:
        wanted = grant.removesuffix("?")
        found = {name: tool for name, tool in provided.items() if _covers(wanted, name)}
        tools |= found
        if not found and not grant.endswith("?"):
            missing.append(grant)
    return Grants(tools, tuple(missing))


def open_to(agent_id: str, source: Source, provided: Mapping[str, AnyTool]) -> dict[str, AnyTool]:
    """The provided tools that an agent could be granted at all: those that aren't reserved for another."""
    own = agent_id if source == "bundled" else ""
    return {name: tool for name, tool in provided.items() if tool.reserved_for in ("", own)}


def grants_for(package: AgentPackage, provided: Mapping[str, AnyTool]) -> dict[str, AnyTool]:
    """The tools of a package. Raises AgentHeldBack where a required grant is provided by nobody."""
    reachable = open_to(package.id, package.source, provided)
    held = held_back(package.id, package.manifest.allowed_tools, reachable)
    if held is not None:
        raise held
    return resolve_grants(package.manifest.allowed_tools, reachable).tools


def held_back(agent_id: str, allowed: Sequence[str], provided: Mapping[str, AnyTool]) -> AgentHeldBack | None:
    """Why an agent with these grants can't run, or None where it can."""
    missing = resolve_grants(allowed, provided).missing
    if not missing:
        return None
    known = [*provided, *_families(provided)]
    near = [name for grant in missing for name in difflib.get_close_matches(grant.lower(), known, 1)]
    hint = f"Did you mean {' and '.join(near)}?" if near else f"Provided are: {', '.join(sorted(provided)) or 'none'}."
    return AgentHeldBack(
        f"Agent '{agent_id}' needs {', '.join(missing)}, and nobody provides it.",
        missing=missing,
        fix=f"{hint} A grant that ends with ? is skipped instead.",
    )


def narrow(tools: Mapping[str, AnyTool], allowed: Sequence[str]) -> dict[str, AnyTool]:
    """The tools that a skill's `allowed-tools` leaves of those granted; it can't add any."""
    return {name: tool for name, tool in tools.items() if any(_covers(a.removesuffix("?"), name) for a in allowed)}


def _covers(wanted: str, name: str) -> bool:
    return name.startswith(wanted[:-1]) if wanted.endswith(".*") else name == wanted


def _families(names: Iterable[str]) -> list[str]:
    """The families that the names belong to."""
    return sorted({f"{name.rpartition('.')[0]}.*" for name in names if "." in name})
