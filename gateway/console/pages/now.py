"""Now: what needs a person, what runs, and whether each connection is alive."""

from __future__ import annotations

import time
from dataclasses import dataclass

from aiohttp import web

from gateway.console.stage import Stage
from routes.connection import Connection

SAMPLE = 600
"""Arrivals of a connection that a rate is counted from."""


@dataclass(frozen=True, slots=True)
class Life:
    """A connection, when something last came in, and how many messages the last minute and hour brought."""

    connection: Connection
    last: float | None
    minute: int
    hour: int


class Now:
    """The page."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def show(self, request: web.Request) -> web.Response:
        """The page, or its live part."""
        stage, now = self._stage, time.time()
        lives: list[Life] = []
        for connection in await stage.ledger.connections():
            arrivals = await stage.ledger.arrivals(connection.id, SAMPLE)
            last = await stage.ledger.last_inbound(connection.id)
            minute, hour = (sum(now - at < seconds for at in arrivals) for seconds in (60, 3600))
            lives.append(Life(connection, last, minute, hour))
        entries = stage.registry.entries()
        part = request.headers.get("HX-Request") == "true"
        return stage.page(
            request,
            "now_live.html" if part else "now.html",
            title="Now",
            lives=lives,
            depths=await stage.ledger.depths(),
            waiting=[a for a in await stage.ledger.approvals(50) if a.state == "waiting"],
            taken_over=await stage.ledger.takeovers(),
            broken=[e for e in entries if e.problem],
            live_routes=sum(r.enabled for r in await stage.ledger.routes()),
            own_agents=sum(e.source != "bundled" for e in entries),
        )
