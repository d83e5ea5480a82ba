"""The pigeon channel: text of at most 300 characters, by way of a loft with an HTTP API. Registered here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from pydantic import Field

from channels.adapter import Adapter, Channel, ConnectionSettings, OpenConnection, Secret


class PigeonSettings(ConnectionSettings, frozen=True):
    """Where the loft is."""

    base_url: str = Field(default="https://loft.example", pattern=r"^https?://", description="where the loft's API is")


@asynccontextmanager
async def _open(connection: OpenConnection) -> AsyncIterator[Adapter]:
    from pigeon_channel.adapter import PigeonAdapter  # so that naming the channel imports no client

    adapter = PigeonAdapter(connection, cast(PigeonSettings, connection.settings).base_url)
    try:
        yield adapter
    finally:
        await adapter.close()


CHANNEL = Channel(
    name="pigeon",
    label="Carrier pigeon",
    settings=PigeonSettings,
    secrets=(Secret("loft_key", "loft-key", "loft key"),),
    manner="You are writing notes that pigeons carry: plain text, a sentence or two.",
    open=_open,
    setup="Give the loft keeper the hook URL.",
    by_webhook=lambda _settings, _secrets: True,
)
