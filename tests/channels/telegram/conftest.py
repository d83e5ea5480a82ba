"""The rehearsed Bot API, and those who speak to it: python-telegram-bot's own Bot, and the adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup
from telegram.request import HTTPXRequest

from channels.adapter import OpenConnection
from channels.message import InboundMessage
from channels.telegram.adapter import TelegramAdapter
from channels.telegram.channel import CHANNEL
from channels.telegram.rehearsal import TelegramRehearsal
from channels.telegram.settings import TelegramSettings

HOOK = "http://127.0.0.1:9/hook/telegram/line"
YES = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="yes")]])


@asynccontextmanager
async def a_bot(server: TelegramRehearsal, token: str | None = None) -> AsyncIterator[Bot]:
    bot = Bot(
        token or server.token,
        base_url=server.base_url,
        base_file_url=f"{server.url}/file/bot",
        get_updates_request=HTTPXRequest(connection_pool_size=2, httpx_kwargs={"trust_env": False}),
        request=HTTPXRequest(httpx_kwargs={"trust_env": False}),
    )
    async with bot._request[0], bot._request[1]:
        yield bot


@pytest.fixture
async def server() -> AsyncIterator[TelegramRehearsal]:
    async with TelegramRehearsal(retry_scale=0.0) as server:
        yield server


@pytest.fixture
async def bot(server: TelegramRehearsal) -> AsyncIterator[Bot]:
    async with a_bot(server) as bot:
        yield bot


async def said(server: TelegramRehearsal, text: str = "hello", **how: Any) -> tuple[int, int]:
    done = await server.say({"text": text, **how})
    return int(done["chat"]), int(done["ref"].rpartition(":")[2])


@asynccontextmanager
async def opened(
    server: TelegramRehearsal, *, token: str = "", base_url: str = "", hook_url: str = HOOK, mode: Any = "polling"
) -> AsyncIterator[TelegramAdapter]:
    settings = TelegramSettings(mode=mode, base_url=base_url or server.base_url)
    connection = OpenConnection("line", settings, {"bot_token": token or server.token}, hook_url)
    async with CHANNEL.open(connection) as adapter:
        assert isinstance(adapter, TelegramAdapter)
        adapter._receiver.backoff = 0.001
        yield adapter


@pytest.fixture
async def adapter(server: TelegramRehearsal) -> AsyncIterator[TelegramAdapter]:
    async with opened(server) as adapter:
        yield adapter


class Shelf:
    """Takes messages in; fails first as often as it is told to."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.refused: list[list[str]] = []
        self.kept: list[InboundMessage] = []
        self._changed = asyncio.Condition()

    async def __call__(self, messages: Sequence[InboundMessage]) -> None:
        if self.failures:
            self.refused.append([message.text for message in messages])
            raise self.failures.pop(0)
        self.kept += messages
        async with self._changed:
            self._changed.notify_all()

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.kept]

    async def has(self, count: int) -> None:
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.kept) >= count)


@asynccontextmanager
async def receiving(adapter: TelegramAdapter, intake: Shelf) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(adapter.receive(intake))
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
