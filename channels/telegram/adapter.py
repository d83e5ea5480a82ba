"""One Telegram bot: receive, verify, send, check."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import JsonValue
from telegram.error import BadRequest, TelegramError

from channels.adapter import (
    Call,
    ConnectionReport,
    FileLimits,
    HookRequest,
    Intake,
    Limits,
    OpenConnection,
    Rate,
    Receipt,
    Verified,
)
from channels.errors import PostroomError, SendRefused, VerificationError
from channels.fetch import FetchFailed, FetchRefused, Source, fetch, place_of
from channels.message import Attachment, InboundMessage, OutboundMessage
from channels.payload import json_object
from channels.telegram import calls
from channels.telegram.check import check
from channels.telegram.client import TelegramClient
from channels.telegram.normalise import Account, normalise
from channels.telegram.receive import Receiver
from channels.telegram.refusals import changes_nothing, other_form, send_error
from channels.telegram.render import DEFAULT_LIMIT
from channels.telegram.settings import TelegramSettings

RATES = (Rate("chat", 5, 5.0), Rate("group", 20, 60.0), Rate("connection", 30, 1.0))
"""About a message a second in a chat with a short burst, 20 a minute in a group, 30 a second for the bot."""

GATHER_SECONDS = 0.5
"""The items of an album come as updates of their own, one right after the other."""


class AccountUnknown(PostroomError):
    """The bot's own account isn't known yet: Telegram has not answered getMe."""

    code = "account_unknown"


class TelegramAdapter:
    """One bot. Its account is learned by getMe before anything is normalised."""

    def __init__(self, connection: OpenConnection, settings: TelegramSettings) -> None:
        self._connection = connection
        self._settings = settings
        token = connection.secrets["bot_token"]
        self._client = TelegramClient(token, settings.base_url)
        self._receiver = Receiver(self._client, connection.id)
        # Derived from the token, so that nothing more needs storing and a new token brings a new one.
        self._hook_token = hmac.new(token.encode(), b"postroom webhook", hashlib.sha256).hexdigest()
        self._account: Account | None = None
        rates = RATES if settings.is_public_api else ()
        self.limits = Limits(text=DEFAULT_LIMIT, rates=rates, gather_seconds=GATHER_SECONDS, files=FileLimits())

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    async def receive(self, intake: Intake) -> None:
        """Poll until cancelled, or set the webhook and return. Raises ConnectionBroken when a person has to act."""
        self._account = await self._receiver.account()
        if self._settings.mode == "webhook":
            hook_url, public_api = self._connection.hook_url, self._settings.is_public_api
            await self._receiver.set_webhook(hook_url, self._hook_token, public_api=public_api)
        else:
            await self._receiver.poll(intake, self.normalise)

    def verify(self, request: HookRequest) -> Verified:
        """Check the secret header and parse the update. Raises VerificationError or PayloadError.

        The reply is empty: Telegram would carry out a JSON answer that names a method.
        """
        given = request.header("X-Telegram-Bot-Api-Secret-Token").encode("utf-8", "replace")
        if request.method != "POST" or not hmac.compare_digest(given, self._hook_token.encode()):
            raise VerificationError("The secret token is not this connection's.", status=401)
        return Verified(json_object(request.body))

    def normalise(self, payload: Mapping[str, JsonValue], received_at: datetime) -> list[InboundMessage]:
        """The message in an update. Raises PayloadError, and AccountUnknown before Telegram has answered getMe."""
        if self._account is None:
            raise AccountUnknown("Telegram has not told yet who this bot is.", fix="Try again in a moment.")
        return normalise(payload, account=self._account, connection_id=self._connection.id, received_at=received_at)

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
        """Say it in another form at once, each time with less in it. Raises what `send` raises."""
        if changes_nothing(error):
            return Receipt(note="Nothing had changed.")
        other = other_form(call, error)
        if other is None:
            raise send_error(error) from error
        receipt = await self.send(other.call)
        return replace(receipt, note=f"{other.note} {receipt.note}".strip())

    async def fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        """The bytes of a file, by getFile. Raises FetchRefused or FetchFailed."""
        try:
            file = await self._client.call("getFile", {"file_id": attachment.provider_ref})
        except BadRequest as error:  # a file too big for bots, or none of this bot's
            raise FetchRefused(f"Telegram does not give the file: {error.message}.") from error
        except TelegramError as error:
            raise FetchFailed(f"Telegram did not give the file: {error.message}.") from error
        ours = frozenset[str]() if self._settings.is_public_api else frozenset({place_of(self._settings.base_url)})
        async for chunk in fetch(Source(self._client.file_url(str(file["file_path"])), {}, trusted=ours), max_bytes):
            yield chunk

    async def check(self) -> ConnectionReport:
        """Ask Telegram: is the token good, does the mode fit the webhook, and what can't the bot see?"""
        report, account = await check(self._client, self._settings, self._connection.hook_url)
        self._account = account or self._account
        return report


def _receipt(result: Any) -> Receipt:
    if isinstance(result, Mapping) and "message_id" in result:
        return Receipt(f"{result['chat']['id']}:{result['message_id']}")
    return Receipt()
