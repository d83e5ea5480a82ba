"""Twilio's REST API through its own library, on a base URL that can be changed, with its errors told apart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
from pydantic import JsonValue

from channels.errors import SendRefused, SendRetry

if TYPE_CHECKING:
    from twilio.http.async_http_client import AsyncTwilioHttpClient
    from twilio.http.response import Response
    from twilio.rest import Client

PUBLIC_API = "https://api.twilio.com"
TIMEOUT = 20.0
"""Seconds for one request."""

BROKEN = {20003: "The account SID or auth token is wrong.", 20005: "The account is not active."}
"""Error codes after which nothing works until a person acts."""

FIXES = {
    21655: "Copy the connection's --template from Twilio's Content Template Builder; it must be the account's own.",
    21656: "Make the connection's --template-variables those of the template.",
}
"""What to do about error codes that a connection's settings are the reason of."""

RETRY = {20429: 1.0, 14107: 1.0, 63018: 1.0, 30001: 60.0, 21611: 60.0}
"""Error codes of calls that were not processed, and how long to wait in seconds."""

NOT_FOUND = "20404"
"""The reason of a refusal where the account has no such thing."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """Where Twilio delivers what comes in to a number, a service or a WhatsApp sender.

    `url` is empty where nothing is set. `deferred` tells of a service that leaves it to each number, `application` is
    the SID of what takes the number's place. `state` is a WhatsApp sender's, such as ONLINE.
    """

    url: str
    method: str = "POST"
    application: str = ""
    deferred: bool = False
    state: str = ""


class TwilioClient:
    """Creates messages and reads what the account is set to. The library is imported when the first call is made."""

    def __init__(self, account_sid: str, auth_token: str, base_url: str = PUBLIC_API) -> None:
        self._account_sid = account_sid
        self._auth_token = auth_token
        self._base_url = base_url.rstrip("/")
        self._client: Client | None = None

    async def create_message(self, params: Mapping[str, JsonValue]) -> str:
        """Send one message with the library's parameter names; its SID. Raises SendRetry or SendRefused."""
        message = await self._call(lambda client: client.messages.create_async(**params))
        return str(message.sid)

    async def fetch_account(self) -> tuple[str, str]:
        """The account's friendly name and status. Raises SendRetry or SendRefused."""
        account = await self._call(lambda client: client.api.accounts(self._account_sid).fetch_async())
        return str(account.friendly_name), str(account.status)

    async def number(self, number: str) -> Inbound | None:
        """Where a number of the account delivers; None where the account has no such number. Raises like the rest."""
        found = await self._call(lambda client: client.incoming_phone_numbers.list_async(phone_number=number, limit=20))
        one = next((each for each in found if each.phone_number == number), None)
        if one is None:
            return None
        return Inbound(one.sms_url or "", one.sms_method or "POST", application=one.sms_application_sid or "")

    async def application(self, sid: str) -> Inbound:
        """Where an application delivers messages. Raises SendRetry or SendRefused."""
        found = await self._call(lambda client: client.applications(sid).fetch_async())
        return Inbound(found.sms_url or "", found.sms_method or "POST")

    async def service(self, sid: str) -> Inbound:
        """Where a Messaging Service delivers. Raises SendRetry or SendRefused."""
        found = await self._call(lambda client: client.messaging.v1.services(sid).fetch_async())
        deferred = found.use_inbound_webhook_on_number is True
        return Inbound(found.inbound_request_url or "", found.inbound_method or "POST", deferred=deferred)

    async def whatsapp_sender(self, address: str) -> Inbound | None:
        """Where a WhatsApp sender delivers; None where Twilio doesn't list it. Raises SendRetry or SendRefused."""
        found = await self._call(lambda client: client.messaging.v2.channels_senders.list_async(channel="whatsapp"))
        one = next((each for each in found if each.sender_id == address), None)
        if one is None:
            return None
        webhook = one.webhook if isinstance(one.webhook, Mapping) else {}
        url, method = webhook.get("callback_url"), webhook.get("callback_method")
        return Inbound(str(url or ""), str(method or "POST"), state=str(one.status or ""))

    async def approval(self, content_sid: str) -> tuple[str, str]:
        """WhatsApp's verdict on a template, and why it was rejected. Raises SendRetry or SendRefused."""
        found = await self._call(lambda client: client.content.v1.contents(content_sid).approval_fetch().fetch_async())
        told = found.whatsapp if isinstance(found.whatsapp, Mapping) else {}
        return str(told.get("status") or "unsubmitted"), str(told.get("rejection_reason") or "")

    async def close(self) -> None:
        """Close the connection pool."""
        if self._client is not None:
            await self._client.http_client.close()

    async def _call(self, ask: Any) -> Any:  # the library's resources are untyped at this depth
        from twilio.base.exceptions import TwilioException, TwilioRestException

        try:
            async with asyncio.timeout(TIMEOUT):
                return await ask(self._open())
        except TwilioRestException as error:
            raise _mapped(error.status, error.code, error.msg) from error
        except aiohttp.ClientConnectorError as error:
            raise SendRetry("Twilio can't be reached.", sent=False) from error
        except (TimeoutError, aiohttp.ClientError) as error:
            raise SendRetry("Twilio did not answer.", sent=None) from error
        except (TwilioException, ValueError) as error:  # an answer that is not what the library expects
            raise SendRetry("Twilio answered with something unreadable.", sent=None) from error

    def _open(self) -> Client:
        if self._client is None:
            from twilio.http.async_http_client import AsyncTwilioHttpClient
            from twilio.rest import Client

            http = _Rebased(AsyncTwilioHttpClient(), self._base_url)
            self._client = Client(self._account_sid, self._auth_token, http_client=http)
        return self._client


class _Rebased:
    """The library's HTTP client, sent to another base URL; at Twilio itself each product has a host of its own."""

    is_async = True

    def __init__(self, inner: AsyncTwilioHttpClient, base_url: str) -> None:
        self._inner = inner
        self._base_url = base_url

    async def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> Response:  # the library's signature
        if self._base_url != PUBLIC_API:
            parts = urlsplit(url)
            url = f"{self._base_url}{parts.path}{f'?{parts.query}' if parts.query else ''}"
        return await self._inner.request(method, url, *args, **kwargs)

    async def close(self) -> None:
        await self._inner.close()


def _mapped(status: int, code: int | None, message: str) -> SendRetry | SendRefused:
    number = code or status
    text = f"Twilio refused ({number}): {message}"
    if number in BROKEN or status == 401:
        return SendRefused(BROKEN.get(number, text), reason=str(number), connection_broken=True)
    if number in RETRY or status == 429:
        return SendRetry(text, after=RETRY.get(number, 1.0), sent=False)
    if status >= 500:
        return SendRetry(text, sent=None)
    return SendRefused(text, reason=str(number), fix=FIXES.get(number, ""))
