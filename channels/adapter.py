"""The seam between the gateway and a channel: a few methods, and the plain values that cross it.

`normalise` and `render` are pure, so that they can be replayed, fuzzed and explained without a network.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from pydantic import BaseModel, Field, JsonValue, TypeAdapter

from channels.message import Attachment, InboundMessage, OutboundMessage

Intake = Callable[[Sequence[InboundMessage]], Awaitable[None]]
"""Makes messages durable. Returns when they are on disk, so only then may the provider be told; raises otherwise."""


@dataclass(frozen=True, slots=True)
class HookRequest:
    """A webhook request as it came. `url` is the configured public URL of this hook, never built from headers."""

    method: str
    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str:
        """A header's value whatever its case, or an empty string."""
        wanted = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == wanted), "")


@dataclass(frozen=True, slots=True)
class HookReply:
    """What the provider is answered once its messages are on disk."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Verified:
    """A request whose origin is proven: its payload for `normalise`, and the answer to give after the accept."""

    payload: dict[str, JsonValue]
    reply: HookReply = HookReply()


@dataclass(frozen=True, slots=True)
class Call:
    """One provider call, as data: what a delivery stores and `send` carries out.

    `plain` replaces `params` when the provider refuses the markup, so that a reply is never lost to formatting.
    """

    method: str
    params: dict[str, JsonValue]
    chat_id: str = ""
    is_group: bool = False
    plain: dict[str, JsonValue] | None = None

    def to_json(self) -> bytes:
        """The call as JSON, as the ledger stores it."""
        return _CALL.dump_json(self)

    @staticmethod
    def from_json(data: bytes | str) -> Call:
        """Read what `to_json` wrote."""
        return _CALL.validate_json(data)


_CALL = TypeAdapter(Call)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The provider's word that a call was carried out: the id of what it made, and a note where one is due.

    `state` is "sent" where the provider has no later report, "queued" where a status callback will follow.
    """

    provider_ref: str = ""
    note: str = ""
    state: Literal["queued", "sent"] = "sent"


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` calls in `seconds`, counted per connection, chat, group chat, or (chat, method) pair."""

    by: Literal["connection", "chat", "group", "method"]
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Which files may be sent. `sizes` are (beginning of a media type, bytes at most): the first that fits counts.

    The default is what Telegram lets a bot upload. `unavailable` says why no file can be sent at all, or is empty.
    """

    sizes: tuple[tuple[str, int], ...] = (("", 50_000_000),)
    unavailable: str = ""

    def complaint(self, media_type: str, size: int) -> str:
        """Why a file can't be sent, in a few words, or an empty string."""
        if self.unavailable:
            return self.unavailable
        most = next((most for beginning, most in self.sizes if media_type.startswith(beginning)), None)
        if most is None:
            return f"{media_type} files are not taken here"
        return f"it is larger than {most / 1e6:g} MB" if size > most else ""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the channel allows: text size in its own measure, rates, and how long to gather items of one group.

    `files` has to be set by a channel that renders attachments: for any other, a file becomes a line of text.
    """

    text: int
    rates: tuple[Rate, ...] = ()
    gather_seconds: float = 0.0
    hook_body: int = 1_000_000
    files: FileLimits = FileLimits(unavailable="this channel sends no files")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a connection check. `code` is stable; `fix` says what to do.

    With `ok` and a `fix` it is a note: something goes without, and needn't.
    """

    code: str
    ok: bool
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """What works and what doesn't on a connection, from evidence. `account` is the bot's own name at the provider.

    `waiting` is how many events the provider holds for us. `privacy_mode` is whether it keeps ordinary group messages
    from the bot, None where there is no such thing.
    """

    ok: bool
    account: str = ""
    findings: tuple[Finding, ...] = ()
    waiting: int = 0
    privacy_mode: bool | None = None


class Adapter(Protocol):
    """One open connection on a channel."""

    @property
    def limits(self) -> Limits:
        """What this channel allows."""
        ...

    async def receive(self, intake: Intake) -> None:
        """Bring messages in until cancelled (polling, a socket), or set the webhook up and return.

        Each batch is handed to `intake` and confirmed to the provider only after it returned.
        Raises ConnectionBroken when a person has to act; passing failures are retried inside.
        """
        ...

    def verify(self, request: HookRequest) -> Verified:
        """Prove where a webhook request came from and parse it. Raises VerificationError or PayloadError."""
        ...

    def normalise(self, payload: Mapping[str, JsonValue], received_at: datetime) -> list[InboundMessage]:
        """The messages in a payload; none for what no agent could use. Pure. Raises PayloadError."""
        ...

    def render(self, message: OutboundMessage) -> list[Call]:
        """The calls that say this message on the channel, split to its limits, in order. Pure."""
        ...

    async def send(self, call: Call) -> Receipt:
        """Carry out one call. Raises SendRetry, SendRefused or ConversationMoved."""
        ...

    def fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        """The bytes of a received attachment, in chunks. Raises FetchRefused or FetchFailed (channels.fetch)."""
        ...

    async def check(self) -> ConnectionReport:
        """Ask the provider whether this connection works, and say what it can't see."""
        ...


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret a connection needs: its name in the vault, and the option that names where to read it.

    `option` "token" gives the command line `--token-env` and `--token-file`. `label` is what a person is asked for.
    Of `many` there may be several, given by repeating the option; they are kept as one value, a line each.
    """

    name: str
    option: str
    label: str
    required: bool = True
    many: bool = False

    def each(self, value: str) -> tuple[str, ...]:
        """The secrets in a value: of `many`, what spaces, lines or commas part."""
        return tuple(part for part in re.split(r"[\s,]+", value) if part) if self.many else (value,)


class ConnectionSettings(BaseModel, extra="forbid", frozen=True):
    """Settings in the clear that a channel extends; a field becomes an option of `postroom connection add`.

    `debounce_seconds` waits that long for more before a turn starts, so that a burst of short messages is one turn.
    `sender_limit` and `connection_limit` bound how many turns a minute are answered: a flood costs no model calls.
    """

    debounce_seconds: float = Field(default=0.0, ge=0.0, le=10.0, description="wait for more before answering, seconds")
    sender_limit: int = Field(default=30, ge=1, le=1000, description="turns a minute that one sender is answered")
    connection_limit: int = Field(default=600, ge=1, le=100_000, description="turns a minute that all are answered")


class Facts(Protocol):
    """What the ledger knows of a person on this connection, for rules a provider makes about sending."""

    async def last_inbound(self, person: str) -> float | None:
        """When this person last wrote, in seconds since the epoch, or None."""
        ...

    async def opted_out(self, person: str) -> bool:
        """Whether this person asked for no more messages."""
        ...


class NoFacts:
    """Knows nothing of anybody."""

    async def last_inbound(self, person: str) -> float | None:
        """Never."""
        return None

    async def opted_out(self, person: str) -> bool:
        """Nobody did."""
        return False


MediaUrl = Callable[[Attachment], str]
"""A fresh address under which a provider can fetch a file that goes out, for a day: to be made when it is sent."""


@dataclass(frozen=True, slots=True)
class OpenConnection:
    """What an adapter is opened with.

    `hook_url` is where the provider can reach it, empty without a public URL; `media_url` is None then.
    """

    id: str
    settings: ConnectionSettings
    secrets: Mapping[str, str]
    hook_url: str = ""
    facts: Facts = NoFacts()
    media_url: MediaUrl | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel's registration: everything the rest of Postroom knows about it.

    `manner` goes into the prompt: how to write for this channel, in one or two short sentences.
    `open` yields the adapter and closes its clients at the end; it makes no network call.
    `setup` says what to click at the provider and what to paste where. `complain` says what is wrong with settings and
    the names of the secrets given when they don't go together, or an empty string. `by_webhook` says of the same two
    whether the provider has to reach us.
    """

    name: str
    label: str
    settings: type[ConnectionSettings]
    secrets: tuple[Secret, ...]
    manner: str
    open: Callable[[OpenConnection], AbstractAsyncContextManager[Adapter]]
    setup: str = ""
    complain: Callable[[ConnectionSettings, frozenset[str]], str] = lambda _settings, _secrets: ""
    by_webhook: Callable[[ConnectionSettings, frozenset[str]], bool] = lambda _settings, _secrets: False
