"""The rehearsed Bot API, and python-telegram-bot's own Bot speaking to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup
from telegram.request import HTTPXRequest

from channels.telegram.rehearsal import TelegramRehearsal

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
