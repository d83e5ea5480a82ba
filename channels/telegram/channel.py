"""The Telegram channel, registered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from channels.adapter import Adapter, Channel, OpenConnection, Secret
from channels.telegram.settings import TelegramSettings


@asynccontextmanager
async def _open(connection: OpenConnection) -> AsyncIterator[Adapter]:
    from channels.telegram.adapter import TelegramAdapter  # brings the library, which is slow to import

    adapter = TelegramAdapter(connection, cast(TelegramSettings, connection.settings))
    try:
        yield adapter
    finally:
        await adapter.close()


CHANNEL = Channel(
    name="telegram",
    label="Telegram",
    settings=TelegramSettings,
    secrets=(Secret("bot_token", "token", "bot token"),),
    manner="You are writing on Telegram: short paragraphs, light Markdown, no headings.",
    open=_open,
    setup="Nothing to paste: polling needs no address, and in webhook mode `postroom up` sets the webhook itself.",
    by_webhook=lambda settings, _secrets: isinstance(settings, TelegramSettings) and settings.mode == "webhook",
)
