"""The channels there are. One of ours is a folder here and one line below; anyone else's is an entry point."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from channels.adapter import Channel
from channels.errors import PostroomError

if TYPE_CHECKING:
    from channels.rehearsal import Rehearsed

CHANNELS: dict[str, str] = {
    "telegram": "channels.telegram.channel",
    "slack": "channels.slack.channel",
    "whatsapp": "channels.whatsapp.channel",
    "sms": "channels.sms.channel",
}
"""Name of a channel → module whose `CHANNEL` registers it; imported when first asked for."""

GROUP = "postroom.channels"
"""The entry points in which an installed distribution registers channels: `name = "module:CHANNEL"`."""

Rehearse = Callable[[str], "AbstractAsyncContextManager[Rehearsed]"]
"""Starts a channel's rehearsal server, which delivers to the hook URL it is given."""


class UnknownChannel(PostroomError):
    """A channel name that nothing registers."""

    code = "channel_unknown"


class ChannelBroken(UnknownChannel):
    """A channel that an installed distribution registers, but that can't be loaded."""

    code = "channel_broken"


def names() -> list[str]:
    """Every channel: ours, then what is installed beside Postroom. A name of ours can't be taken by another."""
    return [*CHANNELS, *sorted(entry_points(group=GROUP).names - CHANNELS.keys())]


@cache
def load(name: str) -> Channel:
    """The channel of that name. Raises UnknownChannel, or ChannelBroken where it isn't ours and can't be loaded."""
    if name in CHANNELS:
        channel: Channel = importlib.import_module(CHANNELS[name]).CHANNEL
        return channel
    entry = _entry(name)
    try:
        found: object = entry.load()
    except Exception as error:  # another's module may fail in any way
        raise _broken(entry, f"{type(error).__name__}: {error}") from error
    if not isinstance(found, Channel) or found.name != name:
        raise _broken(entry, f"it is not a Channel named '{name}'")
    return found


def load_rehearsal(name: str) -> Rehearse:
    """The `rehearse` of the module `rehearsal` beside a channel's own. Raises UnknownChannel."""
    module = CHANNELS[name] if name in CHANNELS else _entry(name).module
    rehearse: Rehearse = importlib.import_module(f"{module.rpartition('.')[0]}.rehearsal").rehearse
    return rehearse


def _entry(name: str) -> EntryPoint:
    found = entry_points(group=GROUP, name=name)
    if not found:
        raise UnknownChannel(f"There is no channel '{name}'.", fix=f"Choose one of: {', '.join(names())}.")
    return next(iter(found))


def _broken(entry: EntryPoint, why: str) -> ChannelBroken:
    owner = entry.dist.name if entry.dist else entry.module
    return ChannelBroken(
        f"The channel '{entry.name}' of {owner} can't be loaded: {why}.", fix=f"Upgrade or remove {owner}."
    )
