"""What the tests of routes are written with: a universe small enough to go through, and short builders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from hypothesis import strategies as st

from channels.message import Action, ChatKind, Command, Conversation, InboundMessage, Kind, Sender
from routes.route import Route
from routes.scope import Sample, Scope

KINDS: tuple[ChatKind, ...] = ("dm", "group", "channel")

STRANGE = "9"
"""A chat or a sender that no scope names."""


def message(
    scope: ChatKind = "dm",
    chat: str = "1",
    thread: str | None = None,
    sender: str = "a",
    command: str | None = None,
    *,
    connection: str = "shop",
    kind: Kind = "message",
    mentions: bool = False,
    action: Action | None = None,
    is_bot: bool = False,
    is_self: bool = False,
) -> InboundMessage:
    return InboundMessage(
        id="m",
        connection_id=connection,
        channel="telegram",
        kind=kind,
        dedupe_keys=("k",),
        conversation=Conversation(connection, chat, thread),
        scope=scope,
        sender=Sender(sender, is_bot=is_bot, is_self=is_self),
        command=None if command is None else Command(command),
        mentions_bot=mentions,
        action=action,
    )


def witness(sample: Sample) -> InboundMessage:
    return message(sample.kind, sample.chat, sample.thread, sample.sender, sample.command)


UNIVERSE: Sequence[InboundMessage] = [
    message(*point) for point in product(KINDS, ("1", "2", STRANGE), (None, "t"), ("a", "b", STRANGE), (None, "x", "y"))
]
"""Every kind of message that scopes of `scopes` can tell apart, on one connection."""


def _some(values: str) -> st.SearchStrategy[frozenset[str] | None]:
    return st.none() | st.frozensets(st.sampled_from(values))


scopes = st.builds(
    Scope,
    kind=st.sampled_from(["any", "any", *KINDS]),
    chats=_some("12"),
    threads=_some("t"),
    senders=_some("ab"),
    commands=_some("xy"),
)


ALL = Scope()


def route(id_: str, scope: Scope = ALL, *, agent: str = "desk", connection: str = "shop", **more: bool) -> Route:
    return Route(id_, connection, agent, scope, **more)


def owners(message: InboundMessage, routes: Iterable[Route]) -> list[Route]:
    """Who takes a message, found the slow way: live scoped routes, else live fallbacks."""
    takers = [r for r in routes if r.enabled and r.connection_id == message.connection_id and r.scope.takes(message)]
    return [r for r in takers if not r.fallback] or takers


def share(one: Scope, other: Scope) -> bool:
    return any(one.takes(m) and other.takes(m) for m in UNIVERSE)


@st.composite
def tables(draw: st.DrawFn) -> list[Route]:
    """Routes that may stand beside each other, some disabled, and at most one live fallback."""
    routes: list[Route] = []
    for n, scope in enumerate(draw(st.lists(scopes, max_size=6))):
        live = not any(r.enabled and share(r.scope, scope) for r in routes)
        routes.append(route(f"r{n}", scope, enabled=live))
    if draw(st.booleans()):
        routes.append(route("rest", draw(scopes), fallback=True))
    return routes
