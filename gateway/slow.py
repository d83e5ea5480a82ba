"""Clients that hold a connection and send nothing, or a byte at a time: they are cut off."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

log = structlog.get_logger()

PATIENCE = 20.0
"""Seconds that a request's head may take, and its body; and that a connection may be silent between requests."""

LOOK_EVERY = 2.0


@dataclass(slots=True)
class Seen:
    """When a connection last made progress, and the request it is in."""

    since: float
    request: web.BaseRequest | None = None


class Watch:
    """Knows every connection's progress, and cuts off those that make none. One for each server."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._seen: dict[web.RequestHandler, Seen] = {}

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """A request has its whole head: note it for as long as it is answered."""
        self._seen[request.protocol] = Seen(time.monotonic(), request)
        try:
            return await handler(request)
        finally:
            self._seen[request.protocol] = Seen(time.monotonic())

    async def run(self, server: web.Server) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(min(LOOK_EVERY, self._patience))
            self.look(server, time.monotonic())

    def look(self, server: web.Server, now: float) -> None:
        """Cut off whoever took too long. An answer that takes its time, such as a stream, is no reason."""
        there = server.connections
        self._seen = {connection: seen for connection, seen in self._seen.items() if connection in there}
        for connection in there:
            seen = self._seen.setdefault(connection, Seen(now))
            is_sending = seen.request is None or not seen.request.content.is_eof()
            if is_sending and now - seen.since > self._patience and connection.transport is not None:
                log.info("connection_too_slow", seconds=round(now - seen.since))
                connection.transport.abort()
