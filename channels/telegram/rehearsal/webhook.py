"""Pushes to a webhook: in order within a lane, again until taken, while other lanes go on."""

from __future__ import annotations

import asyncio
import time
from asyncio import sleep
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import aiohttp
from pydantic_core import from_json

if TYPE_CHECKING:
    from channels.telegram.rehearsal.updates import Update

Json = dict[str, Any]
Execute = Callable[[Json], Awaitable[None]]

LONGEST_BACKOFF = 60.0
LONGEST_RETRY_AFTER = 3600.0
TIMEOUT = 60.0
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name

NOT_IN_ANSWERS = ("setwebhook", "deletewebhook", "close", "logout", "get")
"""Methods, or beginnings of their names, that an answer can't ask for."""


class Webhook:
    """One webhook as it was set. `scale` shortens the waits between tries: 1, then 0, 2, 4, 8 … seconds."""

    def __init__(self, webhook: Json, execute: Execute, failed: Callable[[str], None], scale: float) -> None:
        self._url: str = webhook["url"]
        self._headers = {SECRET_HEADER: webhook["secret_token"]} if webhook["secret_token"] else {}
        self._execute = execute
        self._failed = failed
        self._scale = scale
        self._free = asyncio.Semaphore(webhook["max_connections"])
        self._lanes: dict[str, deque[Update]] = {}
        self._drives: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None

    def __len__(self) -> int:
        return sum(len(lane) for lane in self._lanes.values())

    def push(self, update: Update) -> None:
        """Deliver after what already waits in its lane."""
        lane = self._lanes.setdefault(update.lane, deque())
        lane.append(update)
        if len(lane) == 1:
            drive = asyncio.create_task(self._drive(update.lane, lane))
            self._drives.add(drive)
            drive.add_done_callback(self._drives.discard)

    def drop(self) -> None:
        """Forget what waits, but for what is on its way."""
        for lane in self._lanes.values():
            while len(lane) > 1:
                lane.pop()

    async def close(self) -> list[Update]:
        """Stop, and hand back what was not taken."""
        for drive in list(self._drives):
            drive.cancel()
        await asyncio.gather(*self._drives, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
        undelivered = [update for lane in self._lanes.values() for update in lane]
        self._lanes.clear()
        return undelivered

    async def _drive(self, name: str, lane: deque[Update]) -> None:
        failures = 0
        while lane:
            wait = await self._deliver(lane[0])
            if wait is None or lane[0].expires < time.monotonic():
                lane.popleft()
                failures = 0
                continue
            backoff = min(LONGEST_BACKOFF, 2.0**failures) if failures else 0.0
            failures += 1
            await sleep((wait or backoff) * self._scale)
        del self._lanes[name]

    async def _deliver(self, update: Update) -> float | None:
        """None once it is taken, else the seconds that the answer asks to wait, or 0."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=TIMEOUT)
            )
        try:
            async with (
                self._free,
                self._session.post(
                    self._url, json=update.content, headers=self._headers, allow_redirects=False
                ) as response,
            ):
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            timed_out = isinstance(error, TimeoutError)
            self._failed("Read timeout expired" if timed_out else f"Connection failed: {type(error).__name__}")
            return 0.0
        if not 200 <= response.status < 300:
            self._failed(f"Wrong response from the webhook: {response.status} {response.reason}")
            return _seconds(response.headers.get("Retry-After", ""))
        await self._answered(body, response.content_type)
        return None

    async def _answered(self, body: bytes, content_type: str) -> None:
        """An answer that names a method is carried out as a call; its outcome is told to nobody."""
        answer: Any = None
        try:
            if content_type == "application/json":
                answer = from_json(body)
            elif content_type == "application/x-www-form-urlencoded":
                answer = dict(parse_qsl(body.decode(), keep_blank_values=True))
        except ValueError:
            return
        if isinstance(answer, dict) and not str(answer.get("method", "get")).lower().startswith(NOT_IN_ANSWERS):
            await self._execute(answer)


def _seconds(retry_after: str) -> float:
    return min(LONGEST_RETRY_AFTER, float(retry_after)) if retry_after.isdigit() else 0.0
