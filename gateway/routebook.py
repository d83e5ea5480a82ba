"""The routes in force: one immutable table, replaced whole when the ledger's configuration changes."""

from __future__ import annotations

import asyncio

from gateway.ledger.protocol import Ledger
from routes.resolve import RouteTable


class RouteBook:
    """Holds the current RouteTable."""

    def __init__(self, table: RouteTable) -> None:
        self.table = table

    async def reload(self, ledger: Ledger) -> None:
        """Build the table anew from the ledger, beside the event loop."""
        routes = await ledger.routes()
        self.table = await asyncio.to_thread(RouteTable, routes)
