"""Bringing updates in: learning who the bot is, polling, and setting the webhook up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import structlog
from pydantic import JsonValue
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, TelegramError

from channels.adapter import Intake
from channels.errors import ConnectionBroken, PayloadError, PostroomError
from channels.fetch import place_of
from channels.message import InboundMessage
from channels.telegram.client import TelegramClient
from channels.telegram.normalise import ALLOWED_UPDATES, Account
from channels.telegram.refusals import asked_pause, is_invalid_token, send_error

log = structlog.get_logger()

Normalise = Callable[[Mapping[str, JsonValue], datetime], list[InboundMessage]]

POLL_SECONDS = 50
"""The longest getUpdates may wait."""

CONFLICTS = 5
"""Answers of 409 in a row after which another poller is more than a restart's overlap."""

LONGEST_PAUSE = 30.0

PORTS = {443, 80, 88, 8443}
"""The ports that webhooks of Telegram's own API reach."""


class Receiver:
    """One bot's updates. After a passing failure it waits `backoff` seconds, then twice as long each time."""

    def __init__(self, client: TelegramClient, connection_id: str, backoff: float = 0.5) -> None:
        self._client = client
        self._connection_id = connection_id
        self.backoff = backoff

    async def account(self) -> Account:
        """Who the bot is. Raises ConnectionBroken."""
        me = await self._insist("getMe", {}, fix="Look at the connection's --base-url.")
        return Account(int(me["id"]), str(me.get("username", "")))

    async def set_webhook(self, url: str, secret: str, *, public_api: bool) -> None:
        """Have updates pushed to `url`, which must be on one of `PORTS` for the public API. Raises ConnectionBroken."""
        if not url:
            raise ConnectionBroken("Telegram has no address to deliver to.", fix="Set POSTROOM_PUBLIC_URL.")
        port = int(place_of(url).rpartition(":")[2])
        if public_api and port not in PORTS:
            raise ConnectionBroken(
                f"Telegram doesn't deliver to port {port}.", fix="Use 443, 80, 88 or 8443 in POSTROOM_PUBLIC_URL."
            )
        wish = {"url": url, "secret_token": secret, "allowed_updates": list(ALLOWED_UPDATES), "max_connections": 100}
        await self._insist("setWebhook", wish, fix="Set POSTROOM_PUBLIC_URL to an https address that leads here.")
        log.info("webhook_set", connection=self._connection_id)

    async def poll(self, intake: Intake, normalise: Normalise) -> None:
        """Hand each answer of getUpdates to `intake`, and confirm it when that returned. Raises ConnectionBroken."""
        await self._insist("deleteWebhook", {}, fix="Look at the connection's --base-url.")
        offset, failures, conflicts = 0, 0, 0
        while True:
            params = {"offset": offset, "timeout": POLL_SECONDS, "allowed_updates": list(ALLOWED_UPDATES)}
            asked = 0.0
            try:
                updates = await self._client.call("getUpdates", params, seconds=POLL_SECONDS + 10)
                if updates:
                    await intake(self._read(updates, normalise))
                    offset = int(updates[-1]["update_id"]) + 1
                failures = conflicts = 0
                continue
            except Conflict as error:
                conflicts += 1
                if conflicts >= CONFLICTS:
                    does = "sets a webhook" if "webhook" in error.message else "polls"
                    raise ConnectionBroken(
                        f"Another process {does} with this token.", fix="Stop it, or give it a bot of its own."
                    ) from error
            except TelegramError as error:
                _raise_if_broken(error)
                asked = asked_pause(error)
                log.warning("poll_failed", connection=self._connection_id, error=error.message)
            except PostroomError as error:  # not on disk: the same updates come again
                log.error("updates_not_kept", connection=self._connection_id, code=error.code, error=str(error))
            failures += 1
            await asyncio.sleep(max(asked, self._pause(failures)))

    def _read(self, updates: list[dict[str, JsonValue]], normalise: Normalise) -> list[InboundMessage]:
        """The messages of an answer. An update that can't be read is logged and passed over, never the rest with it."""
        messages: list[InboundMessage] = []
        now = datetime.now(UTC)
        for update in updates:
            try:
                messages += normalise(update, now)
            except PayloadError as error:
                number = update.get("update_id")
                log.error("update_unreadable", connection=self._connection_id, update=number, error=str(error))
        return messages

    async def _insist(self, method: str, params: Mapping[str, Any], fix: str) -> Any:
        """Call until it succeeds; only a bad token or a refusal is final."""
        failures = 0
        while True:
            try:
                return await self._client.call(method, params)
            except TelegramError as error:
                _raise_if_broken(error)
                if isinstance(error, BadRequest | Forbidden | InvalidToken):
                    raise ConnectionBroken(f"Telegram refused {method}: {error.message}.", fix=fix) from error
                failures += 1
                log.warning("telegram_unreachable", connection=self._connection_id, method=method, error=error.message)
                await asyncio.sleep(max(asked_pause(error), self._pause(failures)))

    def _pause(self, failures: int) -> float:
        return min(LONGEST_PAUSE, self.backoff * 2.0 ** min(failures - 1, 10))


def _raise_if_broken(error: TelegramError) -> None:
    if is_invalid_token(error):
        problem = send_error(error)
        raise ConnectionBroken(problem.message, fix=problem.fix) from error
