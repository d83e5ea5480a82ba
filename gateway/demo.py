"""The demo: a gateway of its own, with rehearsal servers where the providers would be."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from agents_runtime.registry import Registry
from channels.registry import CHANNELS, load_rehearsal
from channels.rehearsal import Rehearsed
from gateway.console.keys import Keys
from gateway.ledger.sqlite import open_sqlite
from gateway.places import agent_roots
from gateway.process import Gateway, run_gateway
from gateway.running import Running, demo_settings, written_down
from gateway.settings import Settings
from gateway.vault import Vault, load_vault
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Route

AGENT = "front-desk"


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo started: the gateway, a control address per channel, and the console's keys."""

    gateway: Gateway
    controls: dict[str, str]
    keys: Keys


@asynccontextmanager
async def run_demo(settings: Settings, *, host: str, port: int) -> AsyncIterator[Demo]:
    """Rehearsal servers, their connections and routes to the front desk, and the gateway in one process."""
    own = replace(demo_settings(settings), public_url=f"http://{host}:{port}")
    own.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    vault = load_vault(own.key_path)
    registry = Registry([*agent_roots(settings)])
    async with AsyncExitStack() as stack:
        rehearsed: dict[str, Rehearsed] = {}
        hook_secrets = {channel: secrets.token_urlsafe(24) for channel in CHANNELS}
        for channel, hook_secret in hook_secrets.items():
            rehearse = load_rehearsal(channel)
            rehearsed[channel] = await stack.enter_async_context(rehearse(own.hook_url(channel, hook_secret)))
        await _wire(own, vault, rehearsed, hook_secrets)
        controls = {channel: r.control_url for channel, r in rehearsed.items()}
        keys = Keys(own, vault)
        gateway = await stack.enter_async_context(
            run_gateway(own, vault, registry, host=host, port=port, console=keys, controls=controls)
        )
        stack.enter_context(written_down(settings, Running(pid=os.getpid(), port=gateway.port, controls=controls)))
        yield Demo(gateway, controls, keys)


async def _wire(
    settings: Settings, vault: Vault, rehearsed: dict[str, Rehearsed], hook_secrets: dict[str, str]
) -> None:
    async with open_sqlite(settings.ledger_path, worker=True) as ledger:
        for channel, r in rehearsed.items():
            connection = Connection(
                id=channel,
                channel=channel,
                label="Rehearsal",
                settings=dict(r.settings),
                secret_names=tuple(sorted(r.secrets)),
                hook_secret=hook_secrets[channel],
            )
            await ledger.put_connection(connection, {name: vault.seal(value) for name, value in r.secrets.items()})
        existing = {route.connection_id for route in await ledger.routes()}
        missing = tuple(
            Route(id=f"{channel}-{AGENT}", connection_id=channel, agent_id=AGENT)
            for channel in rehearsed
            if channel not in existing
        )
        if missing:
            await ledger.change_routes(lambda _connections, _routes: RouteChange(put=missing, action="demo"))
