"""What a ledger keeps beside the work itself: configuration, people, agents, and looks at all of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from channels.message import Conversation
from gateway.ledger.approval import Approval, ApprovalState
from gateway.ledger.audit import Change, Takeover
from gateway.ledger.pairing import Pairing
from gateway.ledger.records import (
    Bundle,
    ConversationSummary,
    Delivery,
    Deployment,
    Depths,
    Fault,
    Pruned,
    Pulse,
    RunRecord,
    Session,
    StateFile,
    StoredMessage,
    Turn,
)
from gateway.ledger.sql import (
    approvals,
    connections,
    faults,
    inbox,
    listings,
    pairings,
    people,
    prune,
    pulse,
    routes,
    sessions,
    shared,
    turns,
)
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.engine import Now, Reader, Writer
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Route


class Keeping:
    """The half of a ledger whose calls wake nobody: each is one function on the engine."""

    def __init__(self, writer: Writer, reader: Reader, clock: Now) -> None:
        self._writer = writer
        self._reader = reader
        self._now = clock

    # -- reading

    async def session(self, conversation: Conversation, agent_id: str) -> Session | None:
        """See Ledger."""
        return await self._reader.run(lambda db: sessions.newest_session(db, conversation, agent_id))

    async def conversations(self, limit: int = 100, find: str = "") -> list[ConversationSummary]:
        """See Ledger."""
        return await self._reader.run(lambda db: listings.conversations(db, limit, find))

    async def conversation(self, conversation_key: str) -> ConversationSummary:
        """See Ledger."""
        return await self._reader.run(lambda db: listings.conversation(db, conversation_key))

    async def messages(self, conversation_key: str, limit: int = 100) -> list[StoredMessage]:
        """See Ledger."""
        return await self._reader.run(lambda db: listings.messages(db, conversation_key, limit))

    async def deliveries(self, conversation_key: str, limit: int = 100) -> list[Delivery]:
        """See Ledger."""
        return await self._reader.run(lambda db: listings.deliveries(db, conversation_key, limit))

    async def runs(self, conversation_key: str, limit: int = 100) -> list[RunRecord]:
        """See Ledger."""
        return await self._reader.run(lambda db: sessions.runs(db, conversation_key, limit))

    async def message(self, message_id: str) -> StoredMessage:
        """See Ledger."""
        return await self._reader.run(lambda db: listings.message(db, message_id))

    async def last_inbound(self, connection_id: str, sender_id: str | None = None) -> float | None:
        """See Ledger."""
        return await self._reader.run(lambda db: inbox.last_inbound(db, connection_id, sender_id))

    async def arrivals(self, connection_id: str, limit: int = 100) -> list[float]:
        """See Ledger."""
        return await self._reader.run(lambda db: listings.arrivals(db, connection_id, limit))

    async def set_opted_out(self, connection_id: str, person: str, out: bool) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: inbox.set_opted_out(db, connection_id, person, out, self._now()))

    async def opted_out(self, connection_id: str, person: str) -> bool:
        """See Ledger."""
        return await self._reader.run(lambda db: inbox.opted_out(db, connection_id, person))

    async def depths(self) -> Depths:
        """See Ledger."""
        return await self._reader.run(listings.depths)

    async def pulse(self, seconds: float) -> Pulse:
        """See Ledger."""
        now = self._now()
        return await self._reader.run(lambda db: pulse.pulse(db, now - seconds, now))

    async def faults(self) -> list[Fault]:
        """See Ledger."""
        return await self._reader.run(faults.faults)

    # -- connections, secrets, routes

    async def connections(self) -> list[Connection]:
        """See Ledger."""
        return await self._reader.run(connections.connections)

    async def put_connection(self, connection: Connection, secrets: Mapping[str, bytes] | None = None) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: connections.put_connection(db, connection, secrets or {}))

    async def remove_connection(self, connection_id: str) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: connections.remove_connection(db, connection_id))

    async def secrets(self, connection_id: str) -> dict[str, bytes]:
        """See Ledger."""
        return await self._reader.run(lambda db: connections.secrets(db, connection_id))

    async def reseal(self, seal: Callable[[bytes], bytes]) -> int:
        """See Ledger."""
        return await self._writer.run(lambda db: connections.reseal(db, seal))

    async def routes(self) -> list[Route]:
        """See Ledger."""
        return await self._reader.run(routes.routes)

    async def change_routes(self, decide: Callable[[list[Connection], list[Route]], RouteChange]) -> Deployment:
        """See Ledger."""
        return await self._writer.run(lambda db: routes.change_routes(db, decide, self._now()))

    async def deployments(self, limit: int = 20) -> list[Deployment]:
        """See Ledger."""
        return await self._reader.run(lambda db: routes.deployments(db, limit))

    async def config_version(self) -> int:
        """See Ledger."""
        return await self._reader.run(routes.config_version)

    # -- approvals

    async def add_approval(self, approval: Approval) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: approvals.add_approval(db, approval))

    async def move_approval(self, approval: Approval, before: ApprovalState) -> bool:
        """See Ledger."""
        return await self._writer.run(lambda db: approvals.move_approval(db, approval, before))

    async def approval(self, approval_id: str) -> Approval:
        """See Ledger."""
        return await self._reader.run(lambda db: approvals.approval(db, approval_id))

    async def approvals(self, limit: int = 100) -> list[Approval]:
        """See Ledger."""
        return await self._reader.run(lambda db: approvals.approvals(db, limit))

    # -- pairings

    async def ask_to_pair(self, pairing: Pairing, most: int) -> bool:
        """See Ledger."""
        return await self._writer.run(lambda db: pairings.ask(db, pairing, most, self._now()))

    async def pairings(self) -> list[Pairing]:
        """See Ledger."""
        return await self._reader.run(lambda db: pairings.pairings(db, self._now()))

    async def settle_pairing(self, code: str) -> Pairing:
        """See Ledger."""
        return await self._writer.run(lambda db: pairings.settle(db, code, self._now()))

    # -- people

    async def step_in(self, conversation_key: str, person: str) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: people.step_in(db, conversation_key, person, self._now()))

    async def hand_back(self, conversation_key: str) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: people.hand_back(db, conversation_key))

    async def takeovers(self) -> list[Takeover]:
        """See Ledger."""
        return await self._reader.run(people.takeovers)

    async def note(self, change: Change) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: people.note(db, change, self._now()))

    async def audit(self, limit: int = 100) -> list[Change]:
        """See Ledger."""
        return await self._reader.run(lambda db: people.audit(db, limit))

    async def prune(self, before: float, limit: int) -> Pruned:
        """See Ledger."""
        return await self._writer.run(lambda db: prune.prune(db, before, limit))

    # -- agents, where gateways share them

    async def state(self, agent_id: str, folder: str, known: Mapping[str, int]) -> dict[str, StateFile] | None:
        """See Ledger."""
        return await self._reader.run(lambda db: shared.state(db, agent_id, folder, known))

    async def begin_state(self, agent_id: str, folder: str, files: Mapping[str, bytes]) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: shared.begin_state(db, agent_id, folder, files))

    async def put_state(self, turn: Turn, agent_id: str, folder: str, path: str, file: StateFile) -> None:
        """See Ledger."""

        def put(db: Database) -> None:
            turns.fenced(db, turn)
            shared.put_state(db, agent_id, folder, path, file)

        await self._writer.run(put)

    async def drop_states(self, folders: Collection[str]) -> int:
        """See Ledger."""
        return await self._writer.run(lambda db: shared.drop_states(db, folders))

    async def publish(self, bundle: Bundle) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: shared.publish(db, replace(bundle, at=self._now())))

    async def unpublish(self, agent_id: str) -> None:
        """See Ledger."""
        await self._writer.run(lambda db: shared.unpublish(db, agent_id))

    async def published(self) -> dict[str, str]:
        """See Ledger."""
        return await self._reader.run(shared.published)

    async def bundle(self, digest: str) -> Bundle:
        """See Ledger."""
        return await self._reader.run(lambda db: shared.bundle(db, digest))
