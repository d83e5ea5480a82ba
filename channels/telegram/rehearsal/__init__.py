"""A rehearsed Telegram: the Bot API on loopback, with phones to write from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from channels.rehearsal import Rehearsed
from channels.telegram.rehearsal.server import TelegramRehearsal

__all__ = ["TelegramRehearsal", "rehearse"]


@asynccontextmanager
async def rehearse(hook_url: str) -> AsyncIterator[Rehearsed]:  # noqa: ARG001 - every channel is rehearsed alike
    """A running server, and the connection that polls it. `hook_url` is not needed: polling goes the other way."""
    async with TelegramRehearsal() as server:
        yield Rehearsed({"base_url": server.base_url}, {"bot_token": server.token}, server.url)
