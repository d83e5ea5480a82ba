"""The settings of a Telegram connection."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field

from channels.adapter import ConnectionSettings

PUBLIC_API = "https://api.telegram.org/bot"


class TelegramSettings(ConnectionSettings, frozen=True):
    """How a bot listens, and where its API is.

    At Telegram's own address its documented rates and webhook ports hold. A local Bot API server or a proxy has limits
    we can't know: there the answers alone set the pace.
    """

    mode: Literal["polling", "webhook"] = Field(default="polling", description="polling, or webhook with a public URL")
    base_url: str = Field(
        default=PUBLIC_API,
        pattern=r"^https?://.+/bot",
        description="the Bot API's address, as python-telegram-bot takes it; no rates are assumed for another",
    )
    answer_edits: bool = Field(default=False, description="let an edited message start a turn of its own")

    @property
    def is_public_api(self) -> bool:
        """Whether the API is Telegram's own, however its address is written."""
        return urlsplit(self.base_url).hostname == urlsplit(PUBLIC_API).hostname
