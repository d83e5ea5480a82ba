"""Gathering what `postroom audit` grades: the home, the environment, agents, connections and routes as they are."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping, Sequence
from contextlib import suppress

from agents_runtime.registry import Registry
from builder_skill.workspace.checks import check_package
from channels.errors import PostroomError
from gateway.builder import KNOWN
from gateway.doctor.home import open_files
from gateway.grading import AgentPosture, Posture
from gateway.ledger.protocol import Ledger
from gateway.private_file import open_mode
from gateway.settings import Settings
from gateway.vault import keys_from_env, load_vault
from routes.route import Route

WRITING = frozenset({"write_file", "edit_file"})
"""Tools with which an agent changes its state."""


async def gather(
    settings: Settings, ledger: Ledger, registry: Registry, env: Mapping[str, str] = os.environ
) -> Posture:
    """The posture of a home. Raises VaultKeyInvalid where its key can't be used for another reason than its mode."""
    routes = await ledger.routes()
    opened = tuple(path.name for path in open_files(settings.home))
    core, _ = resource.getrlimit(resource.RLIMIT_CORE)
    return Posture(
        settings=settings,
        home_open=bool(open_mode(settings.home)),
        open_files=opened,
        is_root=os.geteuid() == 0,
        dumps_core=core != 0,
        key_from_env=bool(keys_from_env(env)),
        older_keys=0 if "key" in opened else load_vault(settings.key_path, env).older_keys,
        model_urls=tuple(url for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL") if (url := env.get(name, ""))),
        agents={agent.id: agent for agent in _agents(registry, routes)},
        connections=await ledger.connections(),
        routes=routes,
    )


def _agents(registry: Registry, routes: Sequence[Route]) -> list[AgentPosture]:
    """The agents that somebody can reach."""
    found: list[AgentPosture] = []
    for agent_id in sorted({route.agent_id for route in routes if route.enabled}):
        with suppress(PostroomError):  # one that can't be loaded answers nobody
            package = registry.get(agent_id)
            granted = {grant.removesuffix("?") for grant in package.manifest.allowed_tools}
            secret = ""
            if package.source == "user":
                checks = check_package(package.directory, KNOWN)
                secret = next((check.file for check in checks if check.code == "secret_found"), "")
            scope = package.manifest.state_scope
            found.append(AgentPosture(agent_id, package.source, bool(granted & WRITING), scope, secret))
    return found
