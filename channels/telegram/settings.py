"""The settings of a Telegram connection."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from channels.adapter import ConnectionSettings

PUBLIC_API = "https://api.telegram.org/bot"


class TelegramSettings(ConnectionSettings, frozen=True):
    """How a bot listens, and where its API is."""

    mode: Literal["polling", "webhook"] = Field(default="polling", description="polling, or webhook with a public URL")
    base_url: str = Field(
        default=PUBLIC_API,
        pattern=r"^https?://.+/bot",
        description="the Bot API's address, as python-telegram-bot takes it",
    )
    answer_edits: bool = Field(default=False, description="let an edited message start a turn of its own")
