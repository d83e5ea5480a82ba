"""A scope: a conjunction over five dimensions, each "all" (None) or a finite set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScopeKind = Literal["any", "dm", "group", "channel"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which messages of a connection a route takes. `None` is all; a finite set names exactly what it takes."""

    kind: ScopeKind = "any"
    chats: frozenset[str] | None = None
    threads: frozenset[str] | None = None
    senders: frozenset[str] | None = None
    commands: frozenset[str] | None = None
