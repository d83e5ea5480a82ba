"""Health: how much waits, how big the ledger is, what is set, and who changed what."""

from __future__ import annotations

import shutil
import time

from aiohttp import web

from gateway.console.stage import Stage
from gateway.doctor import examine


class Health:
    """The page."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._started = time.time()

    async def show(self, request: web.Request) -> web.Response:
        """Everything at once."""
        stage = self._stage
        size = sum(p.stat().st_size for p in stage.settings.home.glob("ledger.db*"))
        return stage.page(
            request,
            "health.html",
            title="Health",
            areas=await examine(stage.settings, stage.ledger, stage.registry),
            depths=await stage.ledger.depths(),
            size=size,
            free=shutil.disk_usage(stage.settings.home).free,
            started=self._started,
            settings=stage.settings,
            config=await stage.ledger.config_version(),
            audit=await stage.ledger.audit(50),
        )
