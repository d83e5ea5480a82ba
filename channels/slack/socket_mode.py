"""Socket Mode through bolt: each envelope is acknowledged once what it brought is on disk, never before.

Bolt's app would find listeners for a payload; here the first middleware takes them all, ahead of bolt's own, and its
answer decides: 200 is an acknowledgement, anything else is none, and Slack sends the envelope again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import structlog
from pydantic import JsonValue
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from channels.errors import ConnectionBroken, PostroomError, SendRefused
from channels.slack.client import send_error

log = structlog.get_logger()

Take = Callable[[dict[str, JsonValue]], Awaitable[None]]
"""Makes a payload durable; raises otherwise."""

PING_SECONDS = 10.0
"""Between pings; after four without an answer, or a closed socket, the library connects anew."""


async def listen(web: AsyncWebClient, app_token: str, take: Take) -> NoReturn:
    """Receive until cancelled. Raises ConnectionBroken when Slack refuses the app token."""
    opener = _Opener(web)
    app = AsyncApp(
        name="postroom",
        client=opener,
        before_authorize=_Taker(take),
        request_verification_enabled=False,
        ssl_check_enabled=False,
    )
    handler = AsyncSocketModeHandler(app, app_token, proxy=web.proxy, ping_interval=PING_SECONDS)
    handler.client.proxy = web.proxy  # without one it would take the environment's
    connecting = asyncio.create_task(handler.connect_async(), name="slack socket")  # type: ignore[no-untyped-call]
    try:
        problem = await opener.refused
    finally:
        connecting.cancel()
        await asyncio.gather(connecting, return_exceptions=True)
        await handler.close_async()  # type: ignore[no-untyped-call]
    raise ConnectionBroken(
        f"Slack opens no socket: {problem.message}",
        fix="Add the connection again with an app-level token that has connections:write.",
    )


class _Taker(AsyncMiddleware):
    """Takes every payload. Envelopes reach it in the order they came, and it hands them on before it waits."""

    def __init__(self, take: Take) -> None:
        self._take = take

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002 - bolt's signature
    ) -> BoltResponse:
        try:
            await self._take(req.body)
        except PostroomError as error:  # not on disk: Slack sends it again
            log.error("envelope_not_kept", code=error.code, error=str(error))
            return BoltResponse(status=503)
        return BoltResponse(status=200)


class _Opener(AsyncWebClient):
    """The library asks for an address of a socket until it gets one; a refusal that no waiting mends is told here."""

    def __init__(self, web: AsyncWebClient) -> None:
        super().__init__(token=web.token, base_url=web.base_url, proxy=web.proxy, session=web.session)
        self.proxy = web.proxy
        self.refused: asyncio.Future[SendRefused] = asyncio.get_running_loop().create_future()

    async def apps_connections_open(self, *, app_token: str, **kwargs: Any) -> AsyncSlackResponse:
        """See AsyncWebClient."""
        try:
            return await super().apps_connections_open(app_token=app_token, **kwargs)
        except SlackApiError as error:
            problem = send_error(error)
            if isinstance(problem, SendRefused) and not self.refused.done():
                self.refused.set_result(problem)
            raise
