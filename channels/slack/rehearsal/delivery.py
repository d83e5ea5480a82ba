"""How events reach the app: over a websocket if one is connected, else signed to its request URL, with retries."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp

from channels.slack.rehearsal.sockets import Sockets

Json = dict[str, Any]

RETRIES = (0.0, 60.0, 300.0)
"""Seconds before each retry of an event."""

_REDIRECTS = 2
_AGENT = "Slackbot 1.0 (+https://api.slack.com/robots)"


class Delivery:
    """Events, which are retried, and interactions and commands, which are not.

    What has no address yet waits for one, so that an app may start after its users did.
    """

    def __init__(
        self,
        sockets: Callable[[Callable[[], None]], Sockets],
        hook: Callable[[], str],
        background: Callable[[Coroutine[None, None, None]], None],
        *,
        signing_secret: str,
        patience: float,
        retry_scale: float,
    ) -> None:
        self._reachable = asyncio.Event()
        self.sockets = sockets(self._reachable.set)
        self._hook = hook
        self._background = background
        self._secret = signing_secret.encode()
        self._patience = patience
        self._scale = retry_scale
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Hang up on request URLs; the websockets are closed by themselves."""
        if self._session is not None:
            await self._session.close()

    def events(self, payloads: list[Json]) -> None:
        """Deliver each once the one before was tried, and again what was not taken."""
        self._background(self._in_turn(payloads))

    async def ask(self, kind: str, payload: Json) -> tuple[str, Json]:
        """Deliver an interaction (`interactive`) or a command (`slash_commands`) once: what failed, and the answer."""
        await self._address()
        if self.sockets.connected:
            return await self.sockets.send(kind, payload, 0, "")
        form = {"payload": json.dumps(payload)} if kind == "interactive" else payload
        failed, _, body = await self._post(urlencode(form).encode(), "application/x-www-form-urlencoded", {})
        return failed, _message(body)

    def reachable(self) -> None:
        """There is a request URL now."""
        self._reachable.set()

    async def verify(self, url: str, token: str) -> bool:
        """Whether a request URL answers Slack's challenge."""
        challenge = secrets.token_urlsafe(30)
        body = json.dumps({"token": token, "challenge": challenge, "type": "url_verification"}).encode()
        failed, _, answer = await self._post(body, "application/json", {}, url)
        said = answer.strip().strip('"')
        return not failed and challenge in (
            said,
            said.removeprefix("challenge="),
            _message(answer).get("challenge"),
        )

    async def _in_turn(self, payloads: list[Json]) -> None:
        for payload in payloads:
            failed = await self._attempt(payload, 0, "")
            if failed:
                self._background(self._again(payload, failed))

    async def _again(self, payload: Json, failed: str) -> None:
        for attempt, wait in enumerate(RETRIES, 1):
            await asyncio.sleep(wait * self._scale)
            failed = await self._attempt(payload, attempt, failed)
            if not failed:
                return

    async def _attempt(self, payload: Json, attempt: int, reason: str) -> str:
        await self._address()
        if self.sockets.connected:
            failed, _ = await self.sockets.send("events_api", payload, attempt, reason)
            return failed
        again = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason} if attempt else {}
        failed, headers, _ = await self._post(json.dumps(payload).encode(), "application/json", again)
        return "" if headers.get("X-Slack-No-Retry") == "1" else failed

    async def _address(self) -> None:
        while not (self.sockets.connected or self._hook()):
            self._reachable.clear()
            await self._reachable.wait()

    async def _post(
        self, body: bytes, media_type: str, headers: dict[str, str], url: str = ""
    ) -> tuple[str, Mapping[str, str], str]:
        """Push once: Slack's word for what failed (or nothing), and the headers and body of the answer."""
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        stamp = str(int(time.time()))
        signature = hmac.new(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        signed = {
            "Content-Type": media_type,
            "User-Agent": _AGENT,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={signature}",
            **headers,
        }
        try:
            async with self._session.post(
                url or self._hook(),
                data=body,
                headers=signed,
                max_redirects=_REDIRECTS,
                timeout=aiohttp.ClientTimeout(total=self._patience),
            ) as response:
                failed = "" if 200 <= response.status < 300 else "http_error"
                return failed, response.headers, await response.text(errors="replace")
        except TimeoutError:
            return "http_timeout", {}, ""
        except aiohttp.TooManyRedirects:
            return "too_many_redirects", {}, ""
        except aiohttp.ClientConnectionError:
            return "connection_failed", {}, ""
        except (aiohttp.ClientError, ValueError):
            return "unknown_error", {}, ""


def _message(body: str) -> Json:
    """An answer that is a message: JSON, or its text."""
    try:
        found = json.loads(body or "{}")
    except ValueError:
        return {"text": body}
    return found if isinstance(found, dict) else {"text": body}
