"""Twilio's REST API through its own library, on a base URL that can be changed, with its errors told apart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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

RETRY = {20429: 1.0, 14107: 1.0, 63018: 1.0, 30001: 60.0, 21611: 60.0}
"""Error codes of calls that were not processed, and how long to wait in seconds."""


class TwilioClient:
    """Creates messages and reads the account. The library is imported when the first call is made."""

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
    """The library's HTTP client, sent to another base URL."""

    is_async = True

    def __init__(self, inner: AsyncTwilioHttpClient, base_url: str) -> None:
        self._inner = inner
        self._base_url = base_url

    async def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> Response:  # the library's signature
        return await self._inner.request(method, self._base_url + url.removeprefix(PUBLIC_API), *args, **kwargs)

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
    return SendRefused(text, reason=str(number))
