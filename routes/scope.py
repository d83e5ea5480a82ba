"""A scope: a conjunction over five dimensions, each "all" (None) or a finite set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from channels.message import InboundMessage

ScopeKind = Literal["any", "dm", "group", "channel"]
ScopeSet = frozenset[str] | None

DIMENSIONS = ("chats", "threads", "senders", "commands")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which messages of a connection a route takes. `None` is all; a finite set names exactly what it takes.

    A message without a thread, or without a command, is taken only by a scope that takes all of them.
    """

    kind: ScopeKind = "any"
    chats: frozenset[str] | None = None
    threads: frozenset[str] | None = None
    senders: frozenset[str] | None = None
    commands: frozenset[str] | None = None

    def takes(self, message: InboundMessage) -> bool:
        """Whether a message falls under this scope."""
        return (self.kind in ("any", message.scope)) and all(
            wanted is None or value in wanted for wanted, value in zip(self.sets, coordinates(message), strict=True)
        )

    @property
    def sets(self) -> tuple[ScopeSet, ScopeSet, ScopeSet, ScopeSet]:
        """The four finite dimensions, in the order of DIMENSIONS."""
        return (self.chats, self.threads, self.senders, self.commands)

    @property
    def is_everything(self) -> bool:
        """Whether this scope owns the whole connection."""
        return self.kind == "any" and self.sets == (None, None, None, None)


@dataclass(frozen=True, slots=True)
class Sample:
    """A message that a scope takes, told by what decides it."""

    kind: Literal["dm", "group", "channel"]
    chat: str
    thread: str | None
    sender: str
    command: str | None

    def __str__(self) -> str:
        thread = f", thread {self.thread}" if self.thread is not None else ""
        command = f" saying /{self.command}" if self.command is not None else ""
        return f"a message from {self.sender} in {self.kind} {self.chat}{thread}{command}"


def coordinates(message: InboundMessage) -> tuple[str, str | None, str, str | None]:
    """Where a message lies in the four finite dimensions."""
    command = None if message.command is None else message.command.name
    return (message.conversation.chat_id, message.conversation.thread_id, message.sender.id, command)


def overlap(one: Scope, other: Scope) -> bool:
    """Whether some message falls under both: exactly when every dimension intersects."""
    kinds = one.kind == other.kind or "any" in (one.kind, other.kind)
    return kinds and all(_meet(a, b) for a, b in zip(one.sets, other.sets, strict=True))


def sample(one: Scope, other: Scope) -> Sample | None:
    """A message that both take, or None where they don't overlap."""
    if not overlap(one, other):
        return None
    kind = one.kind if one.kind != "any" else other.kind
    chats, threads, senders, commands = (_both(a, b) for a, b in zip(one.sets, other.sets, strict=True))
    return Sample(
        kind="dm" if kind == "any" else kind,
        chat="any chat" if chats is None else min(chats),
        thread=None if threads is None else min(threads),
        sender="anyone" if senders is None else min(senders),
        command=None if commands is None else min(commands),
    )


class ScopeSpec(BaseModel):
    """A scope as files and tools write it: `{"kind": "dm", "chats": ["-100123"]}`. What is left out means all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ScopeKind = "any"
    chats: frozenset[str] | None = Field(default=None, min_length=1)
    threads: frozenset[str] | None = Field(default=None, min_length=1)
    senders: frozenset[str] | None = Field(default=None, min_length=1)
    commands: frozenset[str] | None = Field(default=None, min_length=1)

    def to_scope(self) -> Scope:
        """The scope this describes."""
        return Scope(self.kind, self.chats, self.threads, self.senders, self.commands)


def describe(scope: Scope) -> dict[str, str | list[str]]:
    """A scope in the form that ScopeSpec reads, without what means all."""
    named = {name: sorted(values) for name, values in zip(DIMENSIONS, scope.sets, strict=True) if values is not None}
    return {"kind": scope.kind, **named}


def _meet(a: ScopeSet, b: ScopeSet) -> bool:
    return a is None or b is None or not a.isdisjoint(b)


def _both(a: ScopeSet, b: ScopeSet) -> ScopeSet:
    return b if a is None else a if b is None else a & b
