"""One channel end to end: its rehearsal server, a connection to it, and a user on the other side."""

from __future__ import annotations

import importlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.rehearsal import RehearsalClient
from tests.support.gateway import Home


class Line:
    """A connection under test, named like its channel."""

    def __init__(self, channel: str, home: Home, client: RehearsalClient, settings: dict[str, Any]) -> None:
        self.channel = channel
        self.home = home
        self.client = client
        self.settings = settings

    async def deploy(self, agent_id: str, *options: str) -> None:
        """Route everything on this connection to an agent."""
        await self.home.ok("route", "deploy", "--connection", self.channel, "--agent", agent_id, *options)


@asynccontextmanager
async def open_line(channel: str, home: Home, hook_url: str = "") -> AsyncIterator[Line]:
    """Start the channel's rehearsal server and add a connection to it by the command line."""
    module = importlib.import_module(f"channels.{channel}.rehearsal")
    async with module.rehearse(hook_url) as rehearsed, RehearsalClient(rehearsed.control_url) as client:
        registration = importlib.import_module(f"channels.{channel}.channel").CHANNEL
        args = ["connection", "add", channel, "--id", channel]
        for secret in registration.secrets:
            if secret.name in rehearsed.secrets:
                variable = f"TEST_{channel}_{secret.name}".upper()
                home.env[variable] = rehearsed.secrets[secret.name]
                args += [f"--{secret.option}-env", variable]
        for name, value in rehearsed.settings.items():
            args += [f"--{name.replace('_', '-')}", value if isinstance(value, str) else json.dumps(value)]
        await home.ok(*args)
        yield Line(channel, home, client, dict(rehearsed.settings))
