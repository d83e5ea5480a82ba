"""How updates reach the bot: a queue for getUpdates, or pushes to a webhook with retries per chat."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp

from channels.telegram.rehearsal.errors import ApiError, bad_request

Json = dict[str, Any]

UNASKED = {"message_reaction", "message_reaction_count", "chat_member"}
"""Kinds that come only when they are named."""

MAX_WAIT = 50
LONGEST_BACKOFF = 60.0

Background = Callable[[Coroutine[None, None, None]], None]
Execute = Callable[[Json], Coroutine[None, None, None]]


class Updates:
    """Updates not confirmed yet, and the webhook if one is set."""

    def __init__(self, background: Background, execute: Execute, retry_scale: float) -> None:
        self._background = background
        self._execute = execute
        self._scale = retry_scale
        self._pending: deque[Json] = deque()
        self._next = 100_000_001
        self._arrived = asyncio.Event()
        self._poller: asyncio.Event | None = None
        self._allowed: list[str] | None = None
        self._lanes: dict[int, deque[Json]] = {}
        self.webhook: Json = {}
        self.last_error: Json = {}

    def add(self, kind: str, content: Json, chat_id: int, *, twice: bool = False) -> Json | None:
        """A new update, unless its kind isn't asked for."""
        if not self._wanted(kind):
            return None
        update = {"update_id": self._next, kind: content}
        self._next += 1
        for _ in range(2 if twice else 1):
            if self.webhook:
                self._push(update, chat_id)
            else:
                self._pending.append(update)
        self._arrived.set()
        return update

    async def poll(self, offset: int, limit: int, wait: float, allowed: list[str] | None) -> list[Json]:
        """getUpdates. Raises ApiError 409 with a webhook set, or when another poller comes meanwhile."""
        if self.webhook:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook"
                " first",
            )
        if allowed is not None:
            self._allowed = allowed or None
        if self._poller is not None:
            self._poller.set()
        displaced = self._poller = asyncio.Event()
        try:
            return await self._wait(offset, limit, min(wait, MAX_WAIT), displaced)
        finally:
            if self._poller is displaced:
                self._poller = None

    def set_webhook(self, webhook: Json, allowed: list[str] | None, *, drop: bool) -> None:
        """Push from now on; what waits is pushed too."""
        if allowed is not None:
            self._allowed = allowed or None
        self.webhook = webhook
        self.last_error = {}
        waiting = [] if drop else list(self._pending)
        self._pending.clear()
        for update in waiting:
            self._push(update, chat_of(update))

    def delete_webhook(self, *, drop: bool) -> None:
        """Back to polling; what was not delivered waits there."""
        self.webhook = {}
        waiting = sorted((u for lane in self._lanes.values() for u in lane), key=lambda u: int(u["update_id"]))
        self._lanes.clear()
        if drop:
            self._pending.clear()
        else:
            self._pending.extend(waiting)

    def info(self) -> Json:
        """getWebhookInfo."""
        waiting = len(self._pending) + sum(len(lane) for lane in self._lanes.values())
        allowed = {"allowed_updates": self._allowed} if self._allowed else {}
        shown = {k: v for k, v in self.webhook.items() if k != "secret_token"}
        return {
            "url": "",
            "has_custom_certificate": False,
            "pending_update_count": waiting,
            **shown,
            **allowed,
            **self.last_error,
        }

    def _wanted(self, kind: str) -> bool:
        return kind in self._allowed if self._allowed is not None else kind not in UNASKED

    async def _wait(self, offset: int, limit: int, wait: float, displaced: asyncio.Event) -> list[Json]:
        deadline = time.monotonic() + wait
        while True:
            self._confirm(offset)
            found = list(self._pending)[:limit]
            left = deadline - time.monotonic()
            if found or left <= 0:
                return found
            self._arrived.clear()
            waits = {asyncio.ensure_future(self._arrived.wait()), asyncio.ensure_future(displaced.wait())}
            try:
                await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()
            if displaced.is_set():
                raise ApiError(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                )

    def _confirm(self, offset: int) -> None:
        """Forget what came before the offset; a negative one counts from the end of the queue."""
        while self._pending and (self._pending[0]["update_id"] < offset or len(self._pending) > -offset > 0):
            self._pending.popleft()

    def _push(self, update: Json, chat_id: int) -> None:
        lane = self._lanes.get(chat_id)
        if lane is not None:
            lane.append(update)
            return
        self._lanes[chat_id] = deque([update])
        self._background(self._drive(chat_id))

    async def _drive(self, chat_id: int) -> None:
        """Deliver one chat's updates in order: the first again and again until it is taken, other chats go on."""
        failures, lane = 0, self._lanes[chat_id]
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            while self.webhook and lane and self._lanes.get(chat_id) is lane:
                update = lane[0]
                if await self._deliver(session, update):
                    failures = 0
                    if lane and lane[0] is update:
                        lane.popleft()
                else:
                    failures += 1
                    pause = 0.0 if failures == 1 else min(LONGEST_BACKOFF, 2.0 ** (failures - 1))
                    await asyncio.sleep(pause * self._scale)
        if self._lanes.get(chat_id) is lane:
            del self._lanes[chat_id]

    async def _deliver(self, session: aiohttp.ClientSession, update: Json) -> bool:
        headers = {}
        if self.webhook.get("secret_token"):
            headers["X-Telegram-Bot-Api-Secret-Token"] = self.webhook["secret_token"]
        try:
            async with session.post(self.webhook["url"], json=update, headers=headers) as response:
                body = await response.read()
                if 200 <= response.status < 300:
                    if body and response.content_type == "application/json":
                        await self._answered(await response.json())
                    return True
                problem = f"Wrong response from the webhook: {response.status} {response.reason}"
        except (aiohttp.ClientError, TimeoutError, KeyError) as error:
            problem = f"Connection failed: {type(error).__name__}"
        self.last_error = {"last_error_date": int(time.time()), "last_error_message": problem}
        return False

    async def _answered(self, answer: Any) -> None:
        """An answer with a method is carried out as a call."""
        if isinstance(answer, dict) and "method" in answer:
            await self._execute(answer)


def chat_of(update: Json) -> int:
    """The chat an update is about."""
    content = next(v for k, v in update.items() if k != "update_id")
    chat = content.get("chat") or content.get("message", {}).get("chat") or {"id": 0}
    number: int = chat["id"]
    return number


def checked_webhook(params: Json) -> Json:
    """The webhook of a setWebhook call. Raises ApiError."""
    url, secret = str(params.get("url", "")), str(params.get("secret_token", ""))
    if url and not url.startswith(("https://", "http://127.0.0.1", "http://localhost", "http://[::1]")):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    allowed = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
    if len(secret) > 256 or not set(secret) <= allowed:
        raise bad_request("secret token contains unallowed characters")
    connections = int(params.get("max_connections", 40))
    if not 1 <= connections <= 100:
        raise bad_request("max_connections must be between 1 and 100")
    return {"url": url, "max_connections": connections, "secret_token": secret}
