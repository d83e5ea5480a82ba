"""A scope: a conjunction over five dimensions, each "all" (None) or a finite set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError, from_json, to_json

from channels.errors import PostroomError
from channels.message import ChatKind, InboundMessage

ScopeKind = Literal["any", "dm", "group", "channel"]
ScopeSet = frozenset[str] | None
Point = tuple[str | None, str | None, str | None, str | None]

DIMENSIONS = ("chats", "threads", "senders", "commands")


class ScopeInvalid(PostroomError):
    """A scope that can't be read: an unknown field, an empty list, a wrong kind."""

    code = "scope_invalid"


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
        return self.kind in ("any", message.scope) and self.holds(coordinates(message))

    def holds(self, point: Point) -> bool:
        """Whether a point lies inside the four finite dimensions; None in it is a value that no set names."""
        return all(wanted is None or value in wanted for wanted, value in zip(self.sets, point, strict=True))

    def misses(self, message: InboundMessage) -> tuple[str, ...]:
        """The dimensions that keep a message out, by name; none when this scope takes it."""
        kind = () if self.kind in ("any", message.scope) else ("kind",)
        named = zip(DIMENSIONS, self.sets, coordinates(message), strict=True)
        return kind + tuple(name for name, wanted, value in named if wanted is not None and value not in wanted)

    @property
    def sets(self) -> tuple[ScopeSet, ScopeSet, ScopeSet, ScopeSet]:
        """The four finite dimensions, in the order of DIMENSIONS."""
        return (self.chats, self.threads, self.senders, self.commands)

    @property
    def specificity(self) -> int:
        """How many of the five dimensions are narrowed."""
        return (self.kind != "any") + sum(values is not None for values in self.sets)

    @property
    def is_everything(self) -> bool:
        """Whether this scope owns the whole connection."""
        return self.specificity == 0


@dataclass(frozen=True, slots=True)
class Sample:
    """A message that a scope takes, told by what decides it. Where all are taken, a name that reads well stands in."""

    kind: ChatKind
    chat: str
    thread: str | None
    sender: str
    command: str | None

    def __str__(self) -> str:
        thread = f", thread {self.thread}" if self.thread is not None else ""
        command = f" saying /{self.command}" if self.command is not None else ""
        return f"a message from {self.sender} in {self.kind} {self.chat}{thread}{command}"


def coordinates(message: InboundMessage) -> Point:
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


def _not_empty(value: object) -> object:
    if isinstance(value, (list, tuple, set, frozenset)) and not value:
        raise PydanticCustomError("empty_list", "an empty list takes nothing: leave it out to mean all")
    return value


def _command_name(value: object) -> object:
    return value.removeprefix("/").lower() if isinstance(value, str) else value


_Text = Annotated[str, StringConstraints(min_length=1)]
_Texts = Annotated[frozenset[_Text] | None, BeforeValidator(_not_empty)]
_Commands = Annotated[frozenset[Annotated[_Text, BeforeValidator(_command_name)]] | None, BeforeValidator(_not_empty)]


class ScopeSpec(BaseModel):
    """A scope as files and tools write it: `{"kind": "dm", "chats": ["-100123"]}`. What is left out means all.

    Ids may be numbers; commands may have their slash and capitals. Both are read as messages carry them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    kind: ScopeKind = "any"
    chats: _Texts = Field(default=None, description="chat ids; left out: all")
    threads: _Texts = Field(default=None, description="thread ids; left out: all, and messages outside any thread")
    senders: _Texts = Field(default=None, description="sender ids; left out: all")
    commands: _Commands = Field(default=None, description="slash commands; left out: all, and messages without one")

    def to_scope(self) -> Scope:
        """The scope this describes."""
        return Scope(self.kind, self.chats, self.threads, self.senders, self.commands)


def read_scope(spec: Mapping[str, JsonValue]) -> Scope:
    """The scope that a description in the form of ScopeSpec means. Raises ScopeInvalid."""
    try:
        return ScopeSpec.model_validate(spec).to_scope()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "scope"
        known = ", ".join(ScopeSpec.model_fields)
        fix = {
            "empty_list": f"Leave {where} out to mean all.",
            "extra_forbidden": f"A scope has these fields: {known}.",
        }.get(first["type"], "")
        raise ScopeInvalid(f"The scope is not valid: {where}: {first['msg']}.", fix=fix) from error


def describe(scope: Scope) -> dict[str, str | list[str]]:
    """A scope in the form that ScopeSpec reads, without what means all."""
    named = {name: sorted(values) for name, values in zip(DIMENSIONS, scope.sets, strict=True) if values is not None}
    return {"kind": scope.kind, **named}


def scope_to_json(scope: Scope) -> str:
    """A scope as a ledger keeps it: `["dm",null,null,["7"],null]`, the same text for the same scope."""
    sets = (None if values is None else sorted(values) for values in scope.sets)
    return to_json([scope.kind, *sets]).decode()


@lru_cache(maxsize=256)
def scope_from_json(text: str) -> Scope:
    """Read what `scope_to_json` wrote. Many routes of a big table share one of a few scopes: they share the value."""
    kind, *sets = from_json(text)
    chats, threads, senders, commands = (None if values is None else frozenset(values) for values in sets)
    return Scope(kind, chats, threads, senders, commands)


def _meet(a: ScopeSet, b: ScopeSet) -> bool:
    if a is None or b is None:
        return a != frozenset() and b != frozenset()
    return not a.isdisjoint(b)


def _both(a: ScopeSet, b: ScopeSet) -> ScopeSet:
    return b if a is None else a if b is None else a & b
