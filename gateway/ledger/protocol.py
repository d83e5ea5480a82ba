"""The ledger: the durable heart. One small protocol; every implementation passes the one conformance suite.

Times are seconds since the epoch (`time.time()`); waits are seconds. A write that returns is on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from channels.adapter import Receipt
from channels.message import Conversation, InboundMessage, StatusUpdate
from gateway.ledger.approval import Approval, ApprovalState
from gateway.ledger.audit import Change, Takeover
from gateway.ledger.pairing import Pairing
from gateway.ledger.records import (
    Bundle,
    Claims,
    ConversationSummary,
    DeadLetter,
    Delivery,
    Deployment,
    Depths,
    DueDeliveries,
    Erased,
    Fault,
    Finish,
    Piece,
    Pruned,
    Pulse,
    RunRecord,
    Session,
    StateFile,
    StoredMessage,
    Turn,
)
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Route


class Ledger(Protocol):
    """What every implementation provides; the conformance suite says what must always hold."""

    # -- messages and turns
    async def accept(self, messages: Sequence[InboundMessage], hold: float = 0.0) -> list[Literal["new", "duplicate"]]:
        """Store messages once each, all in one transaction; raises LedgerUnavailable when none of them was.

        `hold` delays the turn so that what belongs together is gathered; it never changes the order. A duplicate that
        mentions the bot while the stored twin did not upgrades the twin if it still waits, and is accepted as new if
        the twin was ignored for `mention_required`. If the twin is in a running turn that ends by ignoring it for
        that reason, it waits again, upgraded.
        """
        ...

    async def claim(self, owner: str, limit: int) -> Claims:
        """Lease up to `limit` conversations that have something to do. One turn at a time per conversation."""
        ...

    async def renew(self, turn: Turn) -> Turn:
        """Extend the lease. Raises LeaseLost if it is no longer this worker's."""
        ...

    async def finish(self, turn: Turn, end: Finish) -> None:
        """End the turn: messages, session, run and deliveries in one transaction. Raises LeaseLost."""
        ...

    async def retry(self, turn: Turn, after: float, error: str) -> None:
        """Give the turn back to be claimed again after a wait, keeping its place. Raises LeaseLost."""
        ...

    async def release(self, turn: Turn) -> None:
        """Give a turn back at once without counting the attempt (shutdown). No error if the lease is gone."""
        ...

    async def journal(self, turn: Turn, key: str) -> str | None:
        """The result recorded for a finished side effect of this turn, or None."""
        ...

    async def record(self, turn: Turn, key: str, result: str) -> None:
        """Remember that a side effect of this turn is done. Raises LeaseLost."""
        ...

    # -- deliveries
    async def due(self, owner: str, limit: int) -> DueDeliveries:
        """Mark deliveries as sending and return them: the first open one of each conversation, in order."""
        ...

    async def delivered(self, delivery: Delivery, receipt: Receipt) -> None:
        """The provider took it."""
        ...

    async def postpone(self, delivery: Delivery, after: float, error: str, *, tried: bool = True) -> None:
        """A passing failure: due again after a wait, before the later ones of its conversation.

        `tried=False` gives it back without counting the attempt: it was not sent (the channel's pace, shutdown).
        """
        ...

    async def failed(self, delivery: Delivery, error: str) -> None:
        """A permanent failure: a dead letter. The next delivery of the conversation goes ahead."""
        ...

    async def report(self, connection_id: str, update: StatusUpdate) -> bool:
        """Join a provider's later status to its delivery. States only move forward.

        False: no such delivery yet; the report is kept for a while, for it may be quicker than the call's answer.
        """
        ...

    async def say(self, conversation: Conversation, pieces: Sequence[Piece]) -> None:
        """Queue deliveries outside any turn (a notice, a person's takeover)."""
        ...

    async def move(self, connection_id: str, chat_id: str, new_chat_id: str) -> None:
        """A chat got a new id: its conversations, sessions and open deliveries move with it, in order."""
        ...

    # -- dead letters
    async def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """What ran out of tries, newest first."""
        ...

    async def replay(self, letter_id: str) -> None:
        """Put a dead turn or delivery back in line, once. Raises NotFound."""
        ...

    async def discard(self, letter_id: str, reason: str) -> None:
        """Close a dead letter for good, with the reason kept. Raises NotFound."""
        ...

    # -- reading
    async def session(self, conversation: Conversation, agent_id: str) -> Session | None:
        """The agent's newest session in this conversation."""
        ...

    async def conversations(self, limit: int = 100, find: str = "") -> list[ConversationSummary]:
        """Newest first; with `find`, those whose key or title holds it, whatever its case."""
        ...

    async def conversation(self, conversation_key: str) -> ConversationSummary:
        """One conversation. Raises NotFound."""
        ...

    async def messages(self, conversation_key: str, limit: int = 100) -> list[StoredMessage]:
        """The newest messages of a conversation, oldest first."""
        ...

    async def deliveries(self, conversation_key: str, limit: int = 100) -> list[Delivery]:
        """The newest deliveries of a conversation, oldest first."""
        ...

    async def runs(self, conversation_key: str, limit: int = 100) -> list[RunRecord]:
        """The newest runs of a conversation, oldest first."""
        ...

    async def message(self, message_id: str) -> StoredMessage:
        """One stored message. Raises NotFound."""
        ...

    async def last_inbound(self, connection_id: str, sender_id: str | None = None) -> float | None:
        """When the last message arrived on a connection (from one sender), or None."""
        ...

    async def arrivals(self, connection_id: str, limit: int = 100) -> list[float]:
        """When the last messages arrived on a connection, newest first: the rhythm that silence is judged by."""
        ...

    async def set_opted_out(self, connection_id: str, person: str, out: bool) -> None:
        """Remember that a person wants no more messages on a connection, or that they came back."""
        ...

    async def opted_out(self, connection_id: str, person: str) -> bool:
        """Whether a person wants no more messages on a connection."""
        ...

    async def depths(self) -> Depths:
        """How much waits."""
        ...

    async def pulse(self, seconds: float) -> Pulse:
        """What went on in the last so many seconds, and how old is what waits."""
        ...

    async def faults(self) -> list[Fault]:
        """What must never be in a ledger and is in this one: none. Reads all of it, on one consistent state."""
        ...

    # -- connections, secrets, routes
    async def connections(self) -> list[Connection]:
        """All, by id."""
        ...

    async def put_connection(self, connection: Connection, secrets: Mapping[str, bytes] | None = None) -> None:
        """Insert or replace a connection; `secrets` are sealed by the vault and replace those of the same name."""
        ...

    async def remove_connection(self, connection_id: str) -> None:
        """Remove a connection with its secrets and routes; its conversations stay. Raises NotFound."""
        ...

    async def secrets(self, connection_id: str) -> dict[str, bytes]:
        """The sealed secrets of a connection."""
        ...

    async def reseal(self, seal: Callable[[bytes], bytes]) -> int:
        """Write every secret of every connection as `seal` answers it, in one transaction; how many there are.

        Whatever `seal` raises is raised here, and nothing is written.
        """
        ...

    async def routes(self) -> list[Route]:
        """All, by id."""
        ...

    async def change_routes(self, decide: Callable[[list[Connection], list[Route]], RouteChange]) -> Deployment:
        """Let `decide` read what is, and write what it answers, in one serial transaction; kept in the history.

        Whatever `decide` raises is raised here, and nothing is written: that is how a preflight refuses.
        """
        ...

    async def deployments(self, limit: int = 20) -> list[Deployment]:
        """The history of route changes, newest first."""
        ...

    async def config_version(self) -> int:
        """Grows with every change of connections or routes by any process. Cheap to poll."""
        ...

    # -- approvals
    async def add_approval(self, approval: Approval) -> None:
        """Keep a change that waits for a person."""
        ...

    async def move_approval(self, approval: Approval, before: ApprovalState) -> bool:
        """Write an approval as it is now, if its state still is `before`; False: somebody else was quicker."""
        ...

    async def approval(self, approval_id: str) -> Approval:
        """One approval. Raises NotFound."""
        ...

    async def approvals(self, limit: int = 100) -> list[Approval]:
        """Newest first."""
        ...

    # -- pairings
    async def ask_to_pair(self, pairing: Pairing, most: int) -> bool:
        """Keep a stranger's request. False where they have one open for that route, or the connection has `most`."""
        ...

    async def pairings(self) -> list[Pairing]:
        """Those that are open, by code."""
        ...

    async def settle_pairing(self, code: str) -> Pairing:
        """Take an open one out. Raises NotFound."""
        ...

    # -- people
    async def step_in(self, conversation_key: str, person: str) -> None:
        """A person answers this conversation from now on; messages end as ignored for `taken_over`."""
        ...

    async def hand_back(self, conversation_key: str) -> None:
        """Its agent answers again."""
        ...

    async def takeovers(self) -> list[Takeover]:
        """The conversations that people answer, by key."""
        ...

    async def note(self, change: Change) -> None:
        """Write a line into the audit log."""
        ...

    async def audit(self, limit: int = 100) -> list[Change]:
        """The audit log, newest first."""
        ...

    async def erase(self, connection_id: str, person: str) -> Erased:
        """Blank what a person wrote and was told on a connection; what waits of them is ignored as `erased`.

        Their opt-out stays, and so do the dedupe keys: they hold no words.
        """
        ...

    async def prune(self, before: float, limit: int) -> Pruned:
        """Drop up to `limit` ended messages, deliveries, runs and sessions of each kind from before that time.

        What waits, runs or is a dead letter stays, and so do the dedupe keys.
        """
        ...

    # -- agents, where gateways share them
    async def state(self, agent_id: str, folder: str, known: Mapping[str, int]) -> dict[str, StateFile] | None:
        """The files of a folder of state whose version is not the one `known`; None if it was never begun."""
        ...

    async def begin_state(self, agent_id: str, folder: str, files: Mapping[str, bytes]) -> None:
        """Begin a folder with these files, unless somebody was quicker."""
        ...

    async def put_state(self, turn: Turn, agent_id: str, folder: str, path: str, file: StateFile) -> None:
        """Write one file if the one there is of the version before `file`'s, or there is none before version 1.

        Raises StateChanged, or LeaseLost where the turn is no longer this worker's.
        """
        ...

    async def drop_states(self, folders: Collection[str]) -> int:
        """Drop these folders of every agent's state; how many there were."""
        ...

    async def publish(self, bundle: Bundle) -> None:
        """Make this bundle the one that counts for its agent."""
        ...

    async def unpublish(self, agent_id: str) -> None:
        """Publish the agent no longer. Raises NotFound."""
        ...

    async def published(self) -> dict[str, str]:
        """Which agents are published, as the digests of their bundles."""
        ...

    async def bundle(self, digest: str) -> Bundle:
        """One bundle. Raises NotFound."""
        ...

    # -- several gateways
    async def hold(self, name: str, owner: str, seconds: float) -> bool:
        """Take or keep what only one gateway may do (poll a bot, keep a socket). False while another holds it."""
        ...

    async def let_go(self, owner: str, name: str = "") -> None:
        """Give back one name, or all that an owner holds."""
        ...

    async def forget(self, owner: str, turns: Collection[str], deliveries: Collection[str]) -> None:
        """Give back, as if not yet tried, what is leased to an owner beside these: its claim's answer was lost."""
        ...

    async def beat(self, owner: str, seconds: float) -> int:
        """Say that this gateway lives for so long yet, and free the work of those whose time is over.

        Returns how many live.
        """
        ...

    # -- waking up
    async def wait_for_turns(self, seconds: float) -> None:
        """Return when a turn may have become ready, or after `seconds`."""
        ...

    async def wait_for_deliveries(self, seconds: float) -> None:
        """Return when a delivery may have become due, or after `seconds`."""
        ...


OpenLedger = Callable[[], AbstractAsyncContextManager[Ledger]]
