"""One Telegram bot: receive, verify, send, check."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import structlog
from pydantic import JsonValue
from telegram.error import BadRequest, Conflict, TelegramError

from channels.adapter import (
    Call,
    ConnectionReport,
    Finding,
    HookReply,
    HookRequest,
    Intake,
    Limits,
    OpenConnection,
    Rate,
    Receipt,
    Verified,
)
from channels.errors import ConnectionBroken, PayloadError, PostroomError, SendRefused, VerificationError
from channels.fetch import FetchFailed, Source, fetch, place_of
from channels.message import Attachment, InboundMessage, OutboundMessage
from channels.telegram import calls
from channels.telegram.client import TelegramClient, asked_pause, is_invalid_token, send_error
from channels.telegram.normalise import ALLOWED_UPDATES, Account, normalise
from channels.telegram.settings import PUBLIC_API, TelegramSettings

log = structlog.get_logger()

POLL_SECONDS = 50
"""The longest getUpdates may wait."""

CONFLICTS = 5
"""Answers of 409 in a row after which another poller is more than a restart's overlap."""

PORTS = {443, 80, 88, 8443}
"""The ports that Telegram's webhooks reach."""

RATES = (Rate("chat", 5, 5.0), Rate("group", 20, 60.0), Rate("connection", 30, 1.0))
"""About a message a second in a chat with a short burst, 20 a minute in a group, 30 a second for the bot."""

GONE = {
    "message to be replied not found": "reply_parameters",
    "replied message not found": "reply_parameters",
    "message thread not found": "message_thread_id",
}
"""What Telegram says of a reference that leads nowhere any more, and the parameter that makes it."""


class AccountUnknown(PostroomError):
    """The bot's own account isn't known yet: Telegram has not answered getMe."""

    code = "account_unknown"


class TelegramAdapter:
    """One bot. `account` is learned by getMe before anything is normalised."""

    def __init__(self, connection: OpenConnection, settings: TelegramSettings, backoff: float = 0.5) -> None:
        self._connection = connection
        self._settings = settings
        self._backoff = backoff
        token = connection.secrets["bot_token"]
        self._client = TelegramClient(token, settings.base_url)
        self._hook_token = hmac.new(token.encode(), b"postroom webhook", hashlib.sha256).hexdigest()
        self._account: Account | None = None
        # A local Bot API server or a proxy has limits we can't know: there the answers alone set the pace.
        public = settings.base_url == PUBLIC_API
        self.limits = Limits(text=4096, rates=RATES if public else (), gather_seconds=0.5)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    # -- in

    async def receive(self, intake: Intake) -> None:
        """Poll until cancelled, or set the webhook and return. Raises ConnectionBroken when a person has to act."""
        await self._learn_account()
        if self._settings.mode == "webhook":
            await self._set_webhook()
        else:
            await self._poll(intake)

    def verify(self, request: HookRequest) -> Verified:
        """Check the secret header and parse the update. Raises VerificationError or PayloadError."""
        given = request.header("X-Telegram-Bot-Api-Secret-Token").encode("utf-8", "replace")
        if request.method != "POST" or not hmac.compare_digest(given, self._hook_token.encode()):
            raise VerificationError("The secret token is not this connection's.", status=401)
        try:
            update = json.loads(request.body)
        except (ValueError, RecursionError) as error:
            raise PayloadError("The body is not JSON.") from error
        if not isinstance(update, dict):
            raise PayloadError("The body is not an update.")
        return Verified(update, HookReply())

    def normalise(self, payload: Mapping[str, JsonValue], received_at: datetime) -> list[InboundMessage]:
        """The message in an update. Raises PayloadError, and AccountUnknown before Telegram has answered getMe."""
        if self._account is None:
            raise AccountUnknown("Telegram has not told yet who this bot is.", fix="Try again in a moment.")
        return normalise(payload, account=self._account, connection_id=self._connection.id, received_at=received_at)

    def fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        """The bytes of a file, by getFile. Raises FetchRefused or FetchFailed."""
        return self._fetch(attachment, max_bytes)

    # -- out

    def render(self, message: OutboundMessage) -> list[Call]:
        """The Bot API calls that say this message."""
        return calls.render(message)

    async def send(self, call: Call) -> Receipt:
        """Carry out one call. Raises SendRetry, SendRefused or ConversationMoved."""
        try:
            return _receipt(await self._client.send(call.method, call.params))
        except BadRequest as error:
            return await self._send_otherwise(call, error)
        except TelegramError as error:
            raise send_error(error) from error
        except OSError as error:
            raise SendRefused("The file to send can't be read.", reason=type(error).__name__) from error

    async def _send_otherwise(self, call: Call, error: BadRequest) -> Receipt:
        """A refusal that another form of the same call gets around: nothing new, no markup, no reply, no topic."""
        text = error.message.lower()
        if "message is not modified" in text:
            return Receipt(note="Nothing had changed.")
        gone = next((name for phrase, name in GONE.items() if phrase in text and name in call.params), None)
        if gone is not None:
            note = "What was answered is gone: sent without the reference."
            other = replace(call, params={name: value for name, value in call.params.items() if name != gone})
        elif call.plain is not None and "entit" in text:
            note = "Telegram refused the markup: sent as plain text."
            other = replace(call, params=call.plain, plain=None)
        else:
            raise send_error(error) from error
        receipt = await self.send(other)
        return replace(receipt, note=f"{note} {receipt.note}".strip())

    # -- check

    async def check(self) -> ConnectionReport:
        """Ask Telegram: is the token good, does the mode fit the webhook, and what can't the bot see?"""
        try:
            me = await self._client.call("getMe", {})
            hook = await self._client.call("getWebhookInfo", {})
        except TelegramError as error:
            problem = send_error(error)
            code = "token" if is_invalid_token(error) else "unreachable"
            return ConnectionReport(False, findings=(Finding(code, False, problem.message, problem.fix),))
        self._account = Account(int(me["id"]), str(me.get("username", "")))
        name = f"@{me.get('username', '')}"
        findings = [Finding("token", True, f"The token is {name}'s."), self._webhook_finding(hook)]
        if hook.get("last_error_message") and self._settings.mode == "webhook":
            findings.append(
                Finding("webhook_error", False, f"Telegram's last delivery failed: {hook['last_error_message']}")
            )
        sees_all = me.get("can_read_all_group_messages") is True
        privacy = "Privacy mode is off: the bot sees every group message."
        if not sees_all:
            privacy = (
                "Privacy mode is on: in groups the bot sees commands and replies to it, and a plain mention may not"
                " reach it. Turn it off at @BotFather, then add the bot to the group again."
            )
        findings.append(Finding("privacy_mode", True, privacy))
        return ConnectionReport(all(f.ok for f in findings), name, tuple(findings))

    def _webhook_finding(self, hook: Mapping[str, Any]) -> Finding:
        url, waiting = str(hook.get("url", "")), hook.get("pending_update_count", 0)
        if self._settings.mode == "polling":
            text = "No webhook is set, as polling needs it." if not url else "A webhook is set; `up` takes it away."
            return Finding("webhook", True, f"{text} {waiting} update(s) wait.")
        ok = bool(url) and url == self._connection.hook_url
        text = "The webhook is set." if ok else "The webhook is not set to this gateway."
        fix = "" if ok else "Set POSTROOM_PUBLIC_URL and start `postroom up`, which sets it."
        return Finding("webhook", ok, f"{text} {waiting} update(s) wait.", fix)

    # -- receiving

    async def _learn_account(self) -> None:
        me = await self._insist("getMe", {})
        self._account = Account(int(me["id"]), str(me.get("username", "")))

    async def _set_webhook(self) -> None:
        url = self._connection.hook_url
        if not url:
            raise ConnectionBroken("Telegram has no address to deliver to.", fix="Set POSTROOM_PUBLIC_URL.")
        port = int(place_of(url).rpartition(":")[2])
        if self._settings.base_url == PUBLIC_API and port not in PORTS:
            raise ConnectionBroken(
                f"Telegram doesn't deliver to port {port}.", fix="Use 443, 80, 88 or 8443 in POSTROOM_PUBLIC_URL."
            )
        await self._insist(
            "setWebhook",
            {
                "url": url,
                "secret_token": self._hook_token,
                "allowed_updates": list(ALLOWED_UPDATES),
                "max_connections": 100,
            },
        )
        log.info("webhook_set", connection=self._connection.id)

    async def _poll(self, intake: Intake) -> None:
        await self._insist("deleteWebhook", {})
        offset, failures, conflicts = 0, 0, 0
        while True:
            params = {"offset": offset, "timeout": POLL_SECONDS, "allowed_updates": list(ALLOWED_UPDATES)}
            try:
                updates = await self._client.call("getUpdates", params, seconds=POLL_SECONDS + 10)
                if updates:
                    await intake(self._read(updates))
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
                asked = 0.0
            except TelegramError as error:
                self._raise_if_broken(error)
                asked = asked_pause(error)
                log.warning("poll_failed", connection=self._connection.id, error=str(error))
            except PostroomError as error:  # not on disk: the same updates come again
                asked = 0.0
                log.error("updates_not_kept", connection=self._connection.id, code=error.code, error=str(error))
            failures += 1
            await asyncio.sleep(max(asked, self._pause(failures)))

    def _read(self, updates: list[dict[str, JsonValue]]) -> list[InboundMessage]:
        """The messages of a batch. An update that can't be read is logged and passed over, never the rest with it."""
        messages: list[InboundMessage] = []
        now = datetime.now(UTC)
        for update in updates:
            try:
                messages += self.normalise(update, now)
            except PayloadError as error:
                log.error(
                    "update_unreadable",
                    connection=self._connection.id,
                    update=update.get("update_id"),
                    error=str(error),
                )
        return messages

    async def _insist(self, method: str, params: Mapping[str, Any]) -> Any:
        """Call until it succeeds; only a bad token or a refusal is final."""
        failures = 0
        while True:
            try:
                return await self._client.call(method, params)
            except TelegramError as error:
                self._raise_if_broken(error)
                if isinstance(error, BadRequest):
                    raise ConnectionBroken(f"Telegram refused {method}: {error.message}") from error
                failures += 1
                log.warning("telegram_unreachable", connection=self._connection.id, method=method, error=str(error))
                await asyncio.sleep(max(asked_pause(error), self._pause(failures)))

    def _raise_if_broken(self, error: TelegramError) -> None:
        if is_invalid_token(error):
            problem = send_error(error)
            raise ConnectionBroken(problem.message, fix=problem.fix) from error

    def _pause(self, failures: int) -> float:
        return min(30.0, self._backoff * 2.0 ** (failures - 1))

    async def _fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        try:
            file = await self._client.call("getFile", {"file_id": attachment.provider_ref})
        except TelegramError as error:
            raise FetchFailed(f"Telegram did not give the file: {error.message}") from error
        trusted = (
            frozenset({place_of(self._settings.base_url)}) if self._settings.base_url != PUBLIC_API else frozenset()
        )
        async for chunk in fetch(Source(self._client.file_url(str(file["file_path"])), {}, trusted=trusted), max_bytes):
            yield chunk


def _receipt(result: Any) -> Receipt:
    if isinstance(result, Mapping) and "message_id" in result:
        return Receipt(f"{result['chat']['id']}:{result['message_id']}")
    return Receipt()
