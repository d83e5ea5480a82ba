"""One channel end to end: its rehearsal server, a connection to it, and a user on the other side."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from channels.registry import load, load_rehearsal
from channels.rehearsal import RehearsalClient
from channels.rehearsal.client import Heard, Said
from tests.support.gateway import GatewayProcess, Home

SENDING = {
    "telegram": "sendMessage",
    "slack": "chat.postMessage",
    "whatsapp": "messages",
    "sms": "messages",
    "pigeon": "notes",
}
"""The provider's method that says something, on each channel there is and on one that somebody else installed."""


class Line:
    """A connection under test, named like its channel."""

    def __init__(self, channel: str, home: Home, client: RehearsalClient, port: int) -> None:
        self.channel = channel
        self.home = home
        self.client = client
        self.port = port

    async def up(self) -> GatewayProcess:
        """Start the gateway where the provider's webhooks go."""
        return await self.home.up(self.port)

    async def deploy(self, agent_id: str, *options: str) -> None:
        """Route everything on this connection to an agent."""
        await self.home.ok("route", "deploy", "--connection", self.channel, "--agent", agent_id, *options)

    async def stored(self, count: int) -> None:
        """Return once so many messages are in the ledger."""
        async with asyncio.timeout(30):
            while sum(c["messages"] for c in await self.home.json("conversation", "list")) < count:
                await asyncio.sleep(0.05)

    async def seen(self, gateway: GatewayProcess, before: int) -> None:
        """Return once a gateway has read its configuration more often than `before`."""
        async with asyncio.timeout(30):
            while len(gateway.events("configuration_reloaded")) <= before:
                await asyncio.sleep(0.05)

    async def until(self, said: Said, enough: Callable[[str], bool]) -> list[Heard]:
        """What the bot said since, once it is enough."""
        heard: list[Heard] = []
        while not heard or not enough(heard[-1].text):
            more = await self.client.replies(chat=said.chat, after=heard[-1].n if heard else said.after, wait=30)
            assert more, f"silence after {[piece.text[-40:] for piece in heard]}"
            heard += more
        return heard


@asynccontextmanager
async def open_line(channel: str, home: Home, *options: str) -> AsyncIterator[Line]:
    """Start the channel's rehearsal server and add a connection to it by the command line."""
    port = free_port()
    home.env["POSTROOM_PUBLIC_URL"] = f"http://127.0.0.1:{port}"
    async with load_rehearsal(channel)("") as rehearsed, RehearsalClient(rehearsed.control_url) as client:
        registration = load(channel)
        args = ["connection", "add", channel, "--id", channel, *options]
        for secret in registration.secrets:
            if secret.name in rehearsed.secrets:
                variable = f"TEST_{channel}_{secret.name}".upper()
                home.env[variable] = rehearsed.secrets[secret.name]
                args += [f"--{secret.option}-env", variable]
        fields = registration.settings.model_fields
        for name, value in rehearsed.settings.items():
            option = (fields[name].alias or name).replace("_", "-")
            args += [f"--{option}", value if isinstance(value, str) else json.dumps(value)]
        await home.ok(*args)
        if rehearsed.by_webhook:
            await client.hook((await home.json("connection", "show", channel))["hookUrl"])
        yield Line(channel, home, client, port)


def free_port() -> int:
    """A port nobody uses just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
