"""A gateway for one terminal: the same pipeline, a ledger of its own, and no network edge."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

from ulid import ULID

from agents_runtime.models import ModelCatalogue
from agents_runtime.registry import Registry
from agents_runtime.runner import Runner
from agents_runtime.tools import BUILT_IN
from agents_runtime.tools.tool import AnyTool
from channels.adapter import Call
from channels.local.channel import Hear, local_channel
from gateway.connections import Connections
from gateway.ledger.protocol import Ledger
from gateway.ledger.sqlite import open_sqlite
from gateway.pipeline import Pipeline
from gateway.routebook import RouteBook
from gateway.settings import Settings
from gateway.states import LocalStates
from gateway.vault import load_vault
from gateway.workers import Workers
from routes.change import RouteChange
from routes.connection import Connection
from routes.resolve import RouteTable
from routes.route import Route

CONNECTION = "terminal"


class Terminal:
    """One conversation in a terminal."""

    def __init__(self, ledger: Ledger, connections: Connections, pipeline: Pipeline, chat: str) -> None:
        self._ledger = ledger
        self._connections = connections
        self._pipeline = pipeline
        self._chat = chat

    async def say(self, text: str) -> None:
        """Say something, and return when everything that follows from it has been heard."""
        opened = self._connections.get(CONNECTION)
        assert opened is not None  # noqa: S101 - open for the whole life of the terminal
        payload = {"n": str(ULID()), "chat": self._chat, "text": text}
        await self._pipeline.take(opened, opened.adapter.normalise(payload, datetime.now(UTC)))
        while True:
            depths = await self._ledger.depths()
            if not (depths.waiting_messages or depths.running_turns or depths.pending_deliveries):
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def open_terminal(
    settings: Settings, registry: Registry, agent_id: str, hear: Hear, tools: Mapping[str, AnyTool] = BUILT_IN
) -> AsyncIterator[Terminal]:
    """Talk to one agent, a draft too. What was said is kept in the home's `local.db`."""
    models = ModelCatalogue(settings.models, os.environ)
    async with open_sqlite(settings.home / "local.db", worker=True) as ledger:
        await ledger.put_connection(Connection(id=CONNECTION, channel="local"))
        route = Route(id=CONNECTION, connection_id=CONNECTION, agent_id=agent_id)
        await ledger.change_routes(lambda _connections, _routes: RouteChange(put=(route,), action="chat"))
        connections = Connections(
            ledger, load_vault(settings.key_path), settings, channels=lambda _name: local_channel(hear)
        )
        pipeline = Pipeline(
            ledger=ledger,
            connections=connections,
            routes=RouteBook(RouteTable([route])),
            registry=registry,
            run=Runner(models, tools).run,
            takes_images=models.takes_images,
            states=LocalStates(settings.home),
            settings=settings,
            statuses=frozenset({"draft", "production"}),
        )
        workers = Workers(ledger, pipeline, owner="terminal")
        await connections.sync(lambda opened: partial(pipeline.take, opened))
        workers.start()
        try:
            yield Terminal(ledger, connections, pipeline, chat=agent_id)
        finally:
            await workers.drain(patience=1.0)
            await connections.close()
            await models.close()


def said(call: Call) -> str:
    """The text of a call that says something, or an empty string."""
    text = call.params.get("text") if call.method == "say" else None
    return text if isinstance(text, str) else ""
