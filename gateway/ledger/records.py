"""What a ledger takes and answers: turns, deliveries, sessions, runs, and the lines of its listings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from channels.adapter import Call
from channels.message import ChatKind, Conversation, InboundMessage
from routes.route import Route

MessageState = Literal["waiting", "claimed", "answered", "ignored", "dead"]
DeliveryStatus = Literal["pending", "sending", "queued", "sent", "delivered", "read", "failed", "unknown", "discarded"]
TurnOutcome = Literal["answered", "ignored", "dead"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One unit of work: messages of one conversation, in order, that this worker alone may answer.

    `attempt` counts from 1. A retried or taken-over turn keeps its id and its messages; later arrivals wait for the
    next turn. `epoch` is the fence: it grows each time the conversation is leased.
    """

    id: str
    conversation: Conversation
    messages: tuple[InboundMessage, ...]
    attempt: int
    owner: str
    epoch: int
    lease_until: float


@dataclass(frozen=True, slots=True)
class Claims:
    """Turns just claimed, and when the earliest not yet ready one becomes ready (None: nothing waits)."""

    turns: tuple[Turn, ...]
    next_at: float | None


@dataclass(frozen=True, slots=True)
class Piece:
    """One outbound call to be made durable. `purpose` decides what happens after an ambiguous send."""

    call: Call
    purpose: Literal["reply", "notice"] = "reply"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One outbound piece. `attempt` counts from 1; `ambiguous` marks a resend after a crash in the middle of a send."""

    id: str
    turn_id: str
    conversation: Conversation
    call: Call
    purpose: Literal["reply", "notice"]
    status: DeliveryStatus
    attempt: int
    ambiguous: bool
    created_at: float
    provider_ref: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class DueDeliveries:
    """Deliveries now marked `sending` by this worker, and when the next becomes due."""

    deliveries: tuple[Delivery, ...]
    next_at: float | None


@dataclass(frozen=True, slots=True)
class Session:
    """The part of a conversation that an agent's model still sees. `history` is the runner's own JSON."""

    id: str
    conversation: Conversation
    agent_id: str
    history: bytes
    started_at: float
    last_at: float


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What happened in a turn. `detail` holds prompt parts, steps and tool calls as plain JSON, without secrets."""

    id: str
    turn_id: str
    conversation: Conversation
    agent_id: str
    route_id: str
    model: str
    outcome: str
    steps: int
    input_tokens: int
    output_tokens: int
    started_at: float
    finished_at: float
    detail: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class Finish:
    """How a turn ends, all of it in one transaction.

    `ignored` maps message ids to a named reason. `left` are ids that go back to the front of the line, in place,
    for the next turn (another route owns them). Every other message of the turn gets `outcome`.
    """

    outcome: TurnOutcome
    pieces: Sequence[Piece] = ()
    ignored: Mapping[str, str] = field(default_factory=dict[str, str])
    left: frozenset[str] = frozenset()
    session: Session | None = None
    run: RunRecord | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message and how it ended. `reason` names why it was ignored, or the error it died of."""

    message: InboundMessage
    state: MessageState
    reason: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """One line of a listing."""

    conversation: Conversation
    channel: str
    scope: ChatKind
    title: str
    messages: int
    waiting: int
    last_at: float


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A turn or a delivery that ran out of tries. An `unknown` delivery is listed too: a person decides."""

    id: str
    kind: Literal["turn", "delivery"]
    conversation: Conversation
    error: str
    attempts: int
    at: float
    preview: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """One change of routes, as it was committed: the routes written, by whom, and why."""

    number: int
    at: float
    by: str
    action: str
    before: tuple[Route, ...]
    after: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class Depths:
    """How much waits: for health, metrics and `doctor`."""

    waiting_messages: int
    running_turns: int
    pending_deliveries: int
    dead_letters: int


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased of a person: ids of messages, and their private conversations as they were called."""

    messages: tuple[str, ...]
    conversations: tuple[Conversation, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went."""

    messages: int
    deliveries: int
    runs: int
    sessions: int

    @property
    def rows(self) -> int:
        """All of them."""
        return self.messages + self.deliveries + self.runs + self.sessions


@dataclass(frozen=True, slots=True)
class ConnectionPulse:
    """Of one connection in a while: messages taken in, how many of them are answered, pieces sent and failed."""

    connection_id: str
    received: int = 0
    answered: int = 0
    sent: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Pulse:
    """What is going on, for `doctor` and `top`.

    `oldest_open` is when the oldest message without an end came, `oldest_unsent` when the oldest piece not yet sent was
    written; None where there is none. `newest` is when the last message came. `run_seconds` are the runs that ended in
    the while, in order of length, `tokens` what they used. `gateways` are those that live, where several can.
    """

    connections: tuple[ConnectionPulse, ...]
    oldest_open: float | None
    oldest_unsent: float | None
    newest: float | None
    unknown: int
    run_seconds: tuple[float, ...]
    tokens: int
    gateways: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that must never be in a ledger, how often it is, and one of them."""

    code: str
    message: str
    count: int
    sample: str


@dataclass(frozen=True, slots=True)
class StateFile:
    """One file of an agent's state. `version` counts from 1 and grows with every write."""

    version: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Bundle:
    """An agent as it was published: an archive by its digest, when and by whom."""

    agent_id: str
    digest: str
    content: bytes
    author: str
    at: float = 0.0
