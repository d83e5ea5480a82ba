"""A connection: one account on a channel. Its settings are in the clear, its secrets in the vault."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

ConnectionStatus = Literal["unverified", "ok", "needs_attention"]


@dataclass(frozen=True, slots=True)
class Connection:
    """One account on a channel.

    `secret_names` says which secrets the vault holds for it, never their values. `owners` are sender ids on this
    channel that count as the owner. `hook_secret` is the random part of the webhook path. `privacy_mode` is what the
    last check found: whether the provider keeps ordinary group messages from the bot, None where it isn't known.
    """

    id: str
    channel: str
    label: str = ""
    enabled: bool = True
    settings: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    secret_names: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    hook_secret: str = ""
    status: ConnectionStatus = "unverified"
    status_detail: str = ""
    privacy_mode: bool | None = None
