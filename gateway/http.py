"""The HTTP edge: webhooks in, health and metrics out."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

import structlog
from aiohttp import web

from channels.adapter import HookRequest
from channels.errors import PayloadError, PostroomError, VerificationError
from gateway import metrics
from gateway.connections import Connections
from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.records import Depths
from gateway.media import Media
from gateway.pipeline import Pipeline
from gateway.slow import Watch

log = structlog.get_logger()

MAX_BODY = 16_000_000
"""No provider's event comes near; a channel's own `limits.hook_body` is checked after, and is lower."""


class Hooks:
    """`/hooks/CONNECTION/SECRET`: verify, normalise, make durable, and only then answer."""

    def __init__(self, connections: Connections, pipeline: Pipeline) -> None:
        self._connections = connections
        self._pipeline = pipeline

    async def __call__(self, request: web.Request) -> web.Response:
        """Answer one webhook request."""
        try:
            response = await self._answer(request)
        except VerificationError as error:
            response = _refuse(error.status, error)
        except PayloadError as error:
            response = _refuse(400, error)
        except LedgerUnavailable as error:
            response = _refuse(503, error)
        except web.HTTPRequestEntityTooLarge:
            response = web.json_response({"error": {"code": "body_too_large"}}, status=413)
        except PostroomError as error:  # the adapter isn't ready yet: the provider tries again
            response = _refuse(503, error)
        metrics.HOOKS.labels(str(response.status)).inc()
        return response

    async def _answer(self, request: web.Request) -> web.Response:
        opened = self._connections.get(request.match_info["connection"])
        secret = request.match_info["secret"].encode()
        if opened is None or not hmac.compare_digest(secret, opened.connection.hook_secret.encode()):
            return web.json_response({"error": {"code": "hook_unknown"}}, status=404)
        limit = opened.adapter.limits.hook_body
        if request.content_length is not None and request.content_length > limit:
            raise web.HTTPRequestEntityTooLarge(max_size=limit, actual_size=request.content_length)
        body = await request.read()
        if len(body) > limit:
            raise web.HTTPRequestEntityTooLarge(max_size=limit, actual_size=len(body))
        verified = opened.adapter.verify(
            HookRequest(
                method=request.method,
                url=opened.hook_url + (f"?{query}" if (query := request.rel_url.raw_query_string) else ""),
                headers=request.headers,
                query=dict(request.query),
                body=body,
            )
        )
        messages = opened.adapter.normalise(verified.payload, datetime.now(UTC))
        await self._pipeline.take(opened, messages)
        reply = verified.reply
        return web.Response(status=reply.status, body=reply.body, content_type=reply.content_type)


class Part(Protocol):
    """Something that adds routes of its own."""

    def add_to(self, app: web.Application) -> None:
        """Add them."""
        ...


def build_app(
    hooks: Hooks,
    depths: Callable[[], Awaitable[Depths]],
    ready: Callable[[], bool],
    watch: Watch,
    media: Media | None = None,
    parts: Sequence[Part] = (),
) -> web.Application:
    """The gateway's routes. `ready` is False while starting and draining; `media` is there with a public URL only."""

    async def healthz(_request: web.Request) -> web.Response:
        return web.json_response({"status": "alive"})

    async def readyz(_request: web.Request) -> web.Response:
        return web.json_response({"ready": ready()}, status=200 if ready() else 503)

    async def metrics_page(_request: web.Request) -> web.Response:
        try:
            now = await depths()
        except LedgerUnavailable:
            now = None
        return web.Response(body=metrics.exposition(now), content_type="text/plain")

    app = web.Application(client_max_size=MAX_BODY, middlewares=[watch.middleware])
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", metrics_page)
    for part in parts:
        part.add_to(app)
    app.router.add_route("*", "/hooks/{connection}/{secret}", hooks)
    if media is not None:
        app.router.add_get("/media/{ticket}/{name}", media)
    return app


def _refuse(status: int, error: PostroomError) -> web.Response:
    log.warning("hook_refused", status=status, code=error.code, error=str(error))
    return web.json_response({"error": {"code": error.code, "message": error.message, "fix": error.fix}}, status=status)
