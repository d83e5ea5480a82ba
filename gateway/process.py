"""One gateway process: everything opened in order, and closed in the reverse."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import structlog
from aiohttp import web

from agents_runtime.models import ModelCatalogue
from agents_runtime.registry import Registry
from agents_runtime.runner import Runner
from agents_runtime.tools import BUILT_IN
from builder_skill.system_skill import AGENT_ID, install
from channels.adapter import Intake
from gateway.access_token import access_token
from gateway.api import Api
from gateway.approvals import Approvals
from gateway.builder import builder_tools
from gateway.connections import Connections, Opened, media_of
from gateway.desk import lay_desk
from gateway.holding import Holding
from gateway.http import Hooks, Part, build_app
from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.opening import open_ledger
from gateway.ledger.protocol import Ledger
from gateway.pipeline import Pipeline
from gateway.ports import PortTaken
from gateway.publishing import lay_out
from gateway.retention import keep_to
from gateway.routebook import RouteBook
from gateway.settings import Settings
from gateway.shared_states import SharedStates
from gateway.slow import Watch
from gateway.states import LocalStates
from gateway.vault import Vault
from gateway.workers import Workers
from routes.resolve import RouteTable

if TYPE_CHECKING:
    from gateway.console.keys import Keys

log = structlog.get_logger()

CONFIG_POLL = 0.5
"""Seconds between looks for changes of connections and routes by another process."""

DRAIN_PATIENCE = 20.0
"""Seconds that running turns get to end when the process is told to stop."""


class Gateway:
    """The parts of a running gateway that its surroundings use."""

    def __init__(self, ledger: Ledger, connections: Connections, pipeline: Pipeline, port: int) -> None:
        self.ledger = ledger
        self.connections = connections
        self.pipeline = pipeline
        self.port = port


@asynccontextmanager
async def run_gateway(
    settings: Settings,
    vault: Vault,
    registry: Registry,
    *,
    serving: Registry | None = None,
    host: str,
    port: int,
    console: Keys | None = None,
    controls: Mapping[str, str] | None = None,
) -> AsyncIterator[Gateway]:
    """A gateway that receives, answers and delivers until the context ends; then it drains.

    `serving` has the agents that answer, where they are others than those that tools change.
    With the `console`'s keys it serves the console too; `controls` are the rehearsal servers its phones use.

    Raises LedgerInUse where another process works on the ledger, PortTaken where the address is in use.
    """
    models = ModelCatalogue(settings.models, os.environ)
    install(settings.home)
    async with open_ledger(settings, worker=True) as ledger:
        desk = lay_desk(settings, ledger, registry, AGENT_ID)
        approvals = Approvals(ledger, desk, AGENT_ID, settings.auto_approve)
        runner = Runner(models, {**BUILT_IN, **builder_tools(approvals)})
        connections = Connections(ledger, vault, settings)
        owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        if settings.database_url:
            connections.holding = Holding(ledger, owner, connections.share)
        routes = RouteBook(RouteTable([]))
        pipeline = Pipeline(
            ledger=ledger,
            connections=connections,
            routes=routes,
            registry=serving or registry,
            run=runner.run,
            takes_images=models.takes_images,
            states=SharedStates(ledger, settings) if settings.database_url else LocalStates(settings.home),
            settings=settings,
            approvals=approvals,
        )
        workers = Workers(ledger, pipeline, owner)
        state = {"ready": False}
        api = Api(
            Approvals(ledger, lay_desk(settings, ledger, registry, "api"), "api", settings.auto_approve),
            lambda: access_token(settings),
        )

        async def reload() -> None:
            await lay_out(settings, ledger)
            await routes.reload(ledger)
            await connections.sync(partial(_intake, pipeline))

        parts: list[Part] = [api]
        warming: Callable[[], object] = list
        closing = asyncio.Event()
        if console is not None:
            from gateway.console.console import Console
            from gateway.console.stage import Stage

            stage = Stage(
                settings,
                ledger,
                vault,
                registry,
                connections,
                pipeline,
                routes,
                runner.run,
                console,
                reload,
                controls or {},
            )
            parts.append(Console(stage))
            warming = stage.warm
        media = media_of(vault, settings)
        watch = Watch()
        app = build_app(Hooks(connections, pipeline), ledger.depths, lambda: state["ready"], watch, media, parts)
        web_runner = web.AppRunner(app, access_log=None, shutdown_timeout=5.0)
        await web_runner.setup()
        watching = asyncio.create_task(_watch_over(watch, web_runner), name="slow clients")
        try:
            bound = await _listen(web_runner, host, port)
            if connections.holding is not None:
                await connections.holding.start()
            version = await ledger.config_version()
            await reload()
            workers.start()
            watcher = asyncio.create_task(_watch(ledger, version, reload), name="config")
            state["ready"] = True
            pruning = asyncio.create_task(keep_to(settings, ledger), name="retention")
            warmed = asyncio.create_task(asyncio.to_thread(warming), name="templates")
            log.info("ready", host=host, port=bound, models=models.describe())
            try:
                yield Gateway(ledger, connections, pipeline, bound)
            finally:
                state["ready"] = False
                closing.set()
                log.info("draining")
                watcher.cancel()
                pruning.cancel()
                await asyncio.gather(watcher, pruning, return_exceptions=True)
                await connections.stop_receiving()
                await workers.drain(DRAIN_PATIENCE)
                await asyncio.gather(warmed, return_exceptions=True)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await web_runner.cleanup()
            await connections.close()
            if connections.holding is not None:
                await connections.holding.stop()
            await models.close()


def _intake(pipeline: Pipeline, opened: Opened) -> Intake:
    return partial(pipeline.take, opened)


async def _watch_over(watch: Watch, runner: web.AppRunner) -> None:
    if runner.server is not None:
        await watch.run(runner.server)


async def _listen(runner: web.AppRunner, host: str, port: int) -> int:
    site = web.TCPSite(runner, host, port)
    try:
        await site.start()
    except OSError as error:
        raise PortTaken(host, port, error) from error
    bound: int = runner.addresses[0][1]
    return bound


async def _watch(ledger: Ledger, version: int, reload: Callable[[], Awaitable[None]]) -> None:
    """See changes of published agents, connections and routes within a second, whichever process made them."""
    while True:
        await asyncio.sleep(CONFIG_POLL)
        try:
            current = await ledger.config_version()
            if current == version:
                continue
            version = current
            await reload()
            log.info("configuration_reloaded")
        except LedgerUnavailable as error:
            log.warning("configuration_not_read", error=str(error))
