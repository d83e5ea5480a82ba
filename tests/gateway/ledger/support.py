"""What the ledger's tests are written with: a clock in the test's hand, a store to open, and short builders."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Literal, Protocol

from channels.adapter import Call, Receipt
from channels.message import ChatKind, Conversation, InboundMessage, Sender, message_id
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Delivery, Fault, Finish, Piece, RunRecord, Session, Turn

START = 1_000_000.0
LONG = 5
"""After this many leases every lease has run out, a send's too."""

CHAT = Conversation("shop", "c1")
OTHER = Conversation("shop", "c2")


class Clock:
    """The ledger's time, moved by the test alone."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Store(Protocol):
    """One ledger's storage. Leaving `open` is a crash: nothing is given back. `worker=False` is a second process."""

    clock: Clock
    lease: float

    def open(self, *, worker: bool = True) -> AbstractAsyncContextManager[Ledger]: ...

    def broken(self, sql: str) -> list[Fault]:
        """The faults after a statement that is undone again."""
        ...


def message(
    n: int,
    conversation: Conversation = CHAT,
    *,
    keys: tuple[str, ...] | None = None,
    text: str | None = None,
    sender: str = "u1",
    mentions: bool = False,
    scope: ChatKind = "dm",
) -> InboundMessage:
    """Event number `n`; the same number is the same event."""
    at = datetime.fromtimestamp(START + n, UTC)
    keys = keys if keys is not None else (f"e{n}",)
    return InboundMessage(
        id=message_id(conversation.connection_id, f"{n} {keys}", at),
        connection_id=conversation.connection_id,
        channel="telegram",
        kind="message",
        dedupe_keys=keys,
        conversation=conversation,
        scope=scope,
        sender=Sender(sender, name=sender.title()),
        text=text if text is not None else f"text {n}",
        mentions_bot=mentions,
        received_at=at,
        raw={"n": n},
    )


def piece(text: str, conversation: Conversation = CHAT, purpose: Literal["reply", "notice"] = "reply") -> Piece:
    chat = conversation.chat_id
    return Piece(Call("sendMessage", {"chat_id": chat, "text": text}, chat_id=chat), purpose)


def session(id_: str, history: bytes = b"[]", conversation: Conversation = CHAT, last_at: float = START) -> Session:
    return Session(id_, conversation, "front-desk", history, START, last_at)


def run_record(id_: str, turn: Turn) -> RunRecord:
    return RunRecord(
        id=id_,
        turn_id=turn.id,
        conversation=turn.conversation,
        agent_id="front-desk",
        route_id="r1",
        model="extractive",
        outcome="answered",
        steps=2,
        input_tokens=10,
        output_tokens=20,
        started_at=START,
        finished_at=START + 1,
        detail={"notes": ["é", None, 1.5]},
    )


def texts(turn: Turn) -> list[str]:
    return [m.text for m in turn.messages]


def said(delivery: Delivery) -> str:
    text = delivery.call.params["text"]
    assert isinstance(text, str)
    return text


async def claim(ledger: Ledger, owner: str = "w1", limit: int = 100) -> list[Turn]:
    return list((await ledger.claim(owner, limit)).turns)


async def claim_one(ledger: Ledger, owner: str = "w1") -> Turn:
    turns = await claim(ledger, owner)
    assert len(turns) == 1
    return turns[0]


async def due(ledger: Ledger, owner: str = "w1", limit: int = 100) -> list[Delivery]:
    return list((await ledger.due(owner, limit)).deliveries)


async def due_one(ledger: Ledger, owner: str = "w1") -> Delivery:
    deliveries = await due(ledger, owner)
    assert len(deliveries) == 1
    return deliveries[0]


async def answer(ledger: Ledger, *pieces: Piece) -> Turn:
    """Claim the one turn there is and answer it."""
    turn = await claim_one(ledger)
    await ledger.finish(turn, Finish("answered", pieces))
    return turn


async def send(ledger: Ledger, ref: str = "") -> Delivery:
    """Send the one delivery that is due."""
    delivery = await due_one(ledger)
    await ledger.delivered(delivery, Receipt(ref))
    return delivery


async def states(ledger: Ledger, conversation: Conversation = CHAT) -> list[tuple[str, str, str]]:
    """Text, state and reason of every message, oldest first."""
    return [(m.message.text, m.state, m.reason) for m in await ledger.messages(conversation.key)]


async def statuses(ledger: Ledger, conversation: Conversation = CHAT) -> list[tuple[str, str]]:
    """Text and status of every delivery, in order."""
    return [(said(d), d.status) for d in await ledger.deliveries(conversation.key)]
