"""Which ledger a home has: the embedded one, or a database that several gateways share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from gateway import logs
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings


@asynccontextmanager
async def open_ledger(settings: Settings, *, worker: bool) -> AsyncIterator[Ledger]:
    """Open it as a worker, or as a command beside one. Raises what `open_sqlite` and `open_postgres` raise."""
    if settings.database_url:
        from gateway.ledger.postgres import open_postgres

        logs.hide(urlsplit(settings.database_url).password or "")
        async with open_postgres(settings.database_url, worker=worker) as ledger:
            yield ledger
    else:
        from gateway.ledger.sqlite import open_sqlite

        async with open_sqlite(settings.ledger_path, worker=worker) as ledger:
            yield ledger
