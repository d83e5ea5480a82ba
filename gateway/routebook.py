"""The routes in force: one immutable table, replaced whole when the ledger's configuration changes."""

from __future__ import annotations

import asyncio

from gateway.ledger.protocol import Ledger
from routes.resolve import RouteTable


class RouteBook:
    """Holds the current RouteTable, and the keys of the conversations that a person answers instead."""

    def __init__(self, table: RouteTable) -> None:
        self.table = table
        self.taken_over: frozenset[str] = frozenset()

    async def reload(self, ledger: Ledger) -> None:
        """Build the table anew from the ledger, beside the event loop."""
        routes = await ledger.routes()
        self.taken_over = frozenset(t.conversation_key for t in await ledger.takeovers())
        self.table = await asyncio.to_thread(RouteTable, routes)
