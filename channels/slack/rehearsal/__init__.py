"""A rehearsed Slack: one app on loopback, installed in a workspace or several, with people to write from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from channels.rehearsal import Rehearsed
from channels.slack.rehearsal.server import SlackRehearsal

__all__ = ["SlackRehearsal", "rehearse"]


@asynccontextmanager
async def rehearse(hook_url: str) -> AsyncIterator[Rehearsed]:  # noqa: ARG001 - every channel is rehearsed alike
    """A running server, and the connection by Socket Mode, which needs no `hook_url`."""
    async with SlackRehearsal() as server:
        secrets = {"bot_token": server.bot_token, "app_token": server.app_token}
        yield Rehearsed({"base_url": server.base_url}, secrets, server.url)
