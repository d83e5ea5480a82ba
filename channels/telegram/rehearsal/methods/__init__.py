"""The methods of the Bot API that are rehearsed, by their names."""

from __future__ import annotations

from channels.telegram.rehearsal.methods import account, chats, editing, files, receiving, sending
from channels.telegram.rehearsal.methods.bot import Bot, Method

__all__ = ["METHODS", "Bot", "Method", "find"]

METHODS: dict[str, Method] = {
    **account.METHODS,
    **chats.METHODS,
    **editing.METHODS,
    **files.METHODS,
    **receiving.METHODS,
    **sending.METHODS,
}

_NAMES = {name.lower(): name for name in METHODS}


def find(name: str) -> tuple[str, Method | None]:
    """A method by its name in any case, as Telegram takes it: its name as documented, and None where there is none."""
    documented = _NAMES.get(name.lower(), name)
    return documented, METHODS.get(documented)
