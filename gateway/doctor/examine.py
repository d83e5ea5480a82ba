"""Every check, in the order in which a person would put things right."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agents_runtime.registry import Registry
from channels.adapter import Finding
from gateway.doctor.agents import about_agents
from gateway.doctor.connections import about_connections
from gateway.doctor.home import about_home
from gateway.doctor.key import about_key
from gateway.doctor.ledger import about_ledger
from gateway.doctor.machine import about_machine
from gateway.doctor.models import about_models
from gateway.doctor.routes import about_routes
from gateway.doctor.settings import about_settings
from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings


@dataclass(frozen=True, slots=True)
class Area:
    """What was found in one area. A finding that is `ok` and has a `fix` is a note: it goes on without."""

    name: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing in it is wrong."""
        return all(finding.ok for finding in self.findings)


async def examine(settings: Settings, ledger: Ledger | None, registry: Registry) -> list[Area]:
    """Look at everything. Without a `ledger`, which can't be opened, what is known beside it."""
    connections = [] if ledger is None else await ledger.connections()
    routes = [] if ledger is None else await ledger.routes()
    served = {route.agent_id for route in routes if route.enabled}
    areas = [
        _area("machine", about_machine(settings)),
        _area("home", about_home(settings)),
        _area("settings", about_settings(settings)),
        _area("models", about_models(settings, registry, served)),
        _area("agents", await asyncio.to_thread(about_agents, settings, registry, served)),
    ]
    if ledger is None:
        return [*areas, _area("key", about_key(settings, {}))]
    sealed = {connection.id: await ledger.secrets(connection.id) for connection in connections}
    return [
        *areas,
        _area("key", about_key(settings, sealed)),
        _area("connections", await about_connections(settings, ledger, connections, routes)),
        _area("routes", about_routes(registry, connections, routes)),
        _area("ledger", await _ledger(settings, ledger)),
    ]


async def _ledger(settings: Settings, ledger: Ledger) -> list[Finding]:
    try:
        return await about_ledger(settings, ledger)
    except LedgerUnavailable as error:
        return [Finding(error.code, False, error.message, error.fix)]


def _area(name: str, findings: Sequence[Finding]) -> Area:
    return Area(name, tuple(findings))
