"""The open connections: adapters opened from the ledger's rows, kept in step with every change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial

import structlog
from pydantic import ValidationError

from channels.adapter import Adapter, Channel, ConnectionSettings, Intake, OpenConnection
from channels.errors import ConnectionBroken, PostroomError
from channels.pacing import Pacer
from channels.registry import load
from gateway import logs
from gateway.attachments import Attachments
from gateway.holding import Holding
from gateway.ledger.protocol import Ledger
from gateway.media import Media
from gateway.settings import Settings
from gateway.vault import Vault, VaultSealBroken
from routes.connection import Connection, ConnectionStatus

log = structlog.get_logger()

IntakeOf = Callable[["Opened"], Intake]
"""Makes the intake of one connection."""

ChannelOf = Callable[[str], Channel]
"""Finds a channel by name."""

BROKEN_PAUSE = 60.0
"""Seconds before a connection that a person has to mend is tried again on its own."""


@dataclass(frozen=True, slots=True)
class Opened:
    """One connection in use: its row, its channel, its adapter, and the pace of its calls."""

    connection: Connection
    channel: Channel
    adapter: Adapter
    pacer: Pacer
    hook_url: str
    parsed: ConnectionSettings
    sealed: dict[str, bytes]
    stack: AsyncExitStack


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """What the ledger knows of people on one connection, as adapters ask it."""

    ledger: Ledger
    connection_id: str

    async def last_inbound(self, person: str) -> float | None:
        """When this person last wrote."""
        return await self.ledger.last_inbound(self.connection_id, person)

    async def opted_out(self, person: str) -> bool:
        """Whether this person asked for no more messages."""
        return await self.ledger.opted_out(self.connection_id, person)


def media_of(vault: Vault, settings: Settings) -> Media | None:
    """What serves files to providers; None without a public URL, for then nobody could fetch them."""
    return Media(vault, Attachments(settings.home), settings.public_url) if settings.public_url else None


async def open_connection(
    connection: Connection, ledger: Ledger, vault: Vault, settings: Settings, channels: ChannelOf = load
) -> Opened:
    """Open a connection's adapter with its settings and unsealed secrets. No network call is made.

    Raises ConnectionBroken where they are not what the channel needs, VaultSealBroken where they can't be unsealed.
    """
    channel = channels(connection.channel)
    sealed = await ledger.secrets(connection.id)
    secrets = vault.open_all(sealed)
    missing = next((s for s in channel.secrets if s.required and s.name not in secrets), None)
    if missing is not None:
        raise ConnectionBroken(
            f"The vault has no {missing.label} for connection '{connection.id}'.",
            fix=f"Add it again with `postroom connection add {connection.channel} --id {connection.id} …`.",
        )
    several = (part for s in channel.secrets if s.name in secrets for part in s.each(secrets[s.name]))
    for secret in (*several, connection.hook_secret):
        logs.hide(secret)
    try:
        parsed = channel.settings.model_validate(connection.settings)
    except ValidationError as error:
        raise ConnectionBroken(
            f"The settings of connection '{connection.id}' are not valid: {error.errors()[0]['msg']}.",
            fix=f"Add it again with `postroom connection add {connection.channel} --id {connection.id} …`.",
        ) from error
    hook_url = settings.hook_url(connection.id, connection.hook_secret)
    media = media_of(vault, settings)
    stack = AsyncExitStack()
    adapter = await stack.enter_async_context(
        channel.open(
            OpenConnection(
                id=connection.id,
                settings=parsed,
                secrets=secrets,
                hook_url=hook_url,
                facts=LedgerFacts(ledger, connection.id),
                media_url=None if media is None else media.url,
            )
        )
    )
    return Opened(connection, channel, adapter, Pacer(adapter.limits), hook_url, parsed, sealed, stack)


class Connections:
    """Opens what is enabled, closes what is not, and runs each connection's receiver."""

    def __init__(self, ledger: Ledger, vault: Vault, settings: Settings, channels: ChannelOf = load) -> None:
        self._ledger = ledger
        self._vault = vault
        self._settings = settings
        self._channels = channels
        self._opened: dict[str, Opened] = {}
        self._receivers: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[str, Connection] = {}
        self._sharers = 1
        self.holding: Holding | None = None
        """Where several gateways share the ledger: by it only one of them listens on a connection."""

    def get(self, connection_id: str) -> Opened | None:
        """The open connection of that id."""
        return self._opened.get(connection_id)

    def all(self) -> list[Opened]:
        """Every open connection."""
        return list(self._opened.values())

    def share(self, gateways: int) -> None:
        """Keep to a channel's rates together with other gateways: each takes an equal part."""
        self._sharers = max(1, gateways)
        for opened in self._opened.values():
            opened.pacer.share = self._sharers

    async def sync(self, intakes: IntakeOf) -> None:
        """Bring what is open in step with the ledger. A connection that can't be opened is marked and left."""
        rows = {c.id: c for c in await self._ledger.connections()}
        for connection_id, opened in list(self._opened.items()):
            row = rows.get(connection_id)
            sealed = await self._ledger.secrets(connection_id)
            if (
                row is None
                or _wiring(row) != _wiring(opened.connection)
                or (sealed != opened.sealed and not self._same(connection_id, opened.sealed, sealed))
            ):
                await self._close(connection_id)
            else:
                self._opened[connection_id] = replace(opened, connection=row, sealed=sealed)
        for row in rows.values():
            if row.enabled and row.id not in self._opened and self._failed.get(row.id) != row:
                await self._open(row, intakes)

    async def stop_receiving(self) -> None:
        """Cancel every receiver; webhooks are still accepted while the server runs."""
        tasks = list(self._receivers.values())
        self._receivers.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def forget(self, connection_id: str) -> None:
        """Close a connection, so that the next `sync` opens it afresh; one that could not be opened is tried again."""
        self._failed.pop(connection_id, None)
        if connection_id in self._opened:
            await self._close(connection_id)

    async def close(self) -> None:
        """Close everything."""
        for connection_id in list(self._opened):
            await self._close(connection_id)

    async def mark(self, connection_id: str, status: ConnectionStatus, detail: str) -> None:
        """Write down how a connection is doing, if that changed."""
        for row in await self._ledger.connections():
            if row.id == connection_id and (row.status, row.status_detail) != (status, detail):
                await self._ledger.put_connection(replace(row, status=status, status_detail=detail))

    def _same(self, connection_id: str, before: dict[str, bytes], after: dict[str, bytes]) -> bool:
        """Whether the secrets are those in use, sealed anew. What this vault can't open is no reason to fall silent."""
        try:
            opened = self._vault.open_all(after)
        except VaultSealBroken as error:
            log.error("secrets_not_opened", connection=connection_id, error=str(error))
            return True
        try:
            return self._vault.open_all(before) == opened
        except VaultSealBroken:  # its key was retired meanwhile
            return False

    async def _open(self, row: Connection, intakes: IntakeOf) -> None:
        try:
            opened = await open_connection(row, self._ledger, self._vault, self._settings, self._channels)
        except PostroomError as error:
            log.error("connection_not_opened", connection=row.id, code=error.code, error=str(error))
            await self.mark(row.id, "needs_attention", str(error))
            self._failed[row.id] = replace(row, status="needs_attention", status_detail=str(error))
            return
        self._failed.pop(row.id, None)
        opened.pacer.share = self._sharers
        self._opened[row.id] = opened
        self._receivers[row.id] = asyncio.create_task(self._receive(opened, intakes(opened)), name=f"receive {row.id}")
        log.info("connection_open", connection=row.id, channel=row.channel)

    async def _receive(self, opened: Opened, intake: Intake) -> None:
        while True:
            try:
                if self.holding is None:
                    await opened.adapter.receive(intake)
                else:
                    name = f"receive {opened.connection.id}"
                    await self.holding.alone(name, partial(opened.adapter.receive, intake))
                return  # a webhook is set: messages come through the HTTP edge
            except ConnectionBroken as error:
                log.error("connection_broken", connection=opened.connection.id, error=str(error))
                await self.mark(opened.connection.id, "needs_attention", str(error))
            except Exception:
                log.exception("receiver_failed", connection=opened.connection.id)
            await asyncio.sleep(BROKEN_PAUSE)

    async def _close(self, connection_id: str) -> None:
        opened = self._opened.pop(connection_id)
        receiver = self._receivers.pop(connection_id, None)
        if receiver is not None:
            receiver.cancel()
            await asyncio.gather(receiver, return_exceptions=True)
        await opened.stack.aclose()
        log.info("connection_closed", connection=connection_id)


def _wiring(row: Connection) -> Connection:
    """What an open adapter depends on: the row without its owners and what was found out about it."""
    return replace(row, status="unverified", status_detail="", owners=(), label="", privacy_mode=None)
