"""The channels there are. A new one is a new folder and one line here."""

from __future__ import annotations

import importlib
from functools import cache

from channels.adapter import Channel
from channels.errors import PostroomError

CHANNELS: dict[str, str] = {
    "telegram": "channels.telegram.channel",
    "slack": "channels.slack.channel",
    "whatsapp": "channels.whatsapp.channel",
    "sms": "channels.sms.channel",
}
"""Name of a channel → module whose `CHANNEL` registers it; imported when first asked for."""


class UnknownChannel(PostroomError):
    """A channel name that nothing registers."""

    code = "channel_unknown"


@cache
def load(name: str) -> Channel:
    """The channel of that name. Raises UnknownChannel."""
    if name not in CHANNELS:
        raise UnknownChannel(f"There is no channel '{name}'.", fix=f"Choose one of: {', '.join(CHANNELS)}.")
    channel: Channel = importlib.import_module(CHANNELS[name]).CHANNEL
    return channel
