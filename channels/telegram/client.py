"""The Bot API through python-telegram-bot's request layer, carried by aiohttp, with its errors told apart.

Imported only when a Telegram connection is opened: the library takes over half a second to import.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
from pydantic import JsonValue
from telegram import InputFile
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.request import BaseRequest, RequestData
from telegram.request._requestparameter import RequestParameter  # the only way to build RequestData by hand

from channels.errors import ConversationMoved, SendRefused, SendRetry

CALL_SECONDS = 20.0
"""For one call; a long poll adds its own wait."""

UPLOAD_SECONDS = 120.0


class NotSent(NetworkError):
    """The request never reached the server."""


class AiohttpRequest(BaseRequest):
    """python-telegram-bot's transport on aiohttp: less than half of the default's time for each call."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float:
        """Seconds."""
        return CALL_SECONDS

    async def initialize(self) -> None:
        """Open the connection pool."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=128, keepalive_timeout=75))

    async def shutdown(self) -> None:
        """Close the connection pool."""
        if self._session is not None:
            await self._session.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = None,
        write_timeout: Any = None,
        connect_timeout: Any = None,
        pool_timeout: Any = None,
    ) -> tuple[int, bytes]:
        """One HTTP request. Raises NotSent, TimedOut or NetworkError."""
        await self.initialize()
        assert self._session is not None  # noqa: S101 - just opened
        total = read_timeout if isinstance(read_timeout, int | float) else CALL_SECONDS
        data: Any = None
        if request_data is not None and request_data.contains_files:
            data, total = _form(request_data), max(total, UPLOAD_SECONDS)
        elif request_data is not None:
            data = request_data.json_parameters
        timeout = aiohttp.ClientTimeout(total=total + 5, sock_connect=5, sock_read=total)
        try:
            async with self._session.request(method, url, data=data, timeout=timeout) as response:
                return response.status, await response.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise NotSent("The server can't be reached.") from error
        except TimeoutError as error:
            raise TimedOut from error
        except aiohttp.ClientError as error:
            raise NetworkError(f"The connection broke: {type(error).__name__}.") from error


class TelegramClient:
    """Calls of one bot. `base_url` is as python-telegram-bot takes it: the token is appended, or put for {token}."""

    def __init__(self, token: str, base_url: str) -> None:
        self._request = AiohttpRequest()
        self._api = _with_token(base_url, token)
        head, _, tail = base_url.rpartition("/bot")
        self._files = _with_token(f"{head}/file/bot{tail}", token)

    async def call(self, method: str, params: Mapping[str, Any], seconds: float = CALL_SECONDS) -> Any:
        """The call's result as plain JSON. Raises telegram.error.TelegramError."""
        parameters = [RequestParameter.from_input(name, value) for name, value in params.items()]
        return await self._request.post(f"{self._api}/{method}", RequestData(parameters), read_timeout=seconds)

    async def send(self, method: str, params: Mapping[str, JsonValue]) -> Any:
        """A call that sends something: a file is read from disk. Raises telegram.error.TelegramError or OSError."""
        return await self.call(method, {name: _uploaded(value) for name, value in params.items()})

    def file_url(self, file_path: str) -> str:
        """Where a file of getFile is. It carries the token."""
        return f"{self._files}/{quote(file_path.lstrip('/'))}"

    async def close(self) -> None:
        """Close the connection pool."""
        await self._request.shutdown()


def send_error(error: TelegramError) -> SendRetry | SendRefused | ConversationMoved:
    """What a failed call means for a delivery."""
    match error:
        case RetryAfter():
            return SendRetry("Telegram asks to slow down.", after=asked_pause(error), sent=False)
        case ChatMigrated():
            return ConversationMoved("The group became a supergroup.", chat_id=str(error.new_chat_id))
        case InvalidToken():
            return SendRefused(
                "Telegram doesn't know this token.",
                reason="unauthorized",
                fix="Add the connection again with the token that @BotFather shows.",
                connection_broken=True,
            )
        case Forbidden():
            return SendRefused(f"Telegram refused: {error.message}", reason=error.message)
        case BadRequest():
            return SendRefused(f"Telegram refused: {error.message}", reason=error.message)
        case NotSent() | Conflict():
            return SendRetry(str(error.message), sent=False)
        case _:
            return SendRetry(f"Telegram did not answer: {error.message}", sent=None)


def asked_pause(error: TelegramError) -> float:
    """Seconds that Telegram asks to wait; 0 where it asks for nothing."""
    if not isinstance(error, RetryAfter):
        return 0.0
    after = error.retry_after
    return after.total_seconds() if isinstance(after, timedelta) else float(after)


def is_invalid_token(error: TelegramError) -> bool:
    """Whether the token is not, or no longer, a bot's."""
    return isinstance(error, InvalidToken)


def _with_token(base_url: str, token: str) -> str:
    return base_url.replace("{token}", token) if "{token}" in base_url else base_url + token


def _uploaded(value: JsonValue) -> Any:
    """`{"path": …}` stands for a file on disk."""
    if isinstance(value, dict) and set(value) == {"path"}:
        path = Path(str(value["path"]))
        return InputFile(path.read_bytes(), filename=path.name)
    return value


def _form(request_data: RequestData) -> aiohttp.FormData:
    form = aiohttp.FormData(quote_fields=False)  # Telegram shows a file's name as it came, %20 and all
    for name, value in request_data.json_parameters.items():
        form.add_field(name, value)
    for name, (filename, content, media_type) in (request_data.multipart_data or {}).items():
        form.add_field(name, content, filename=filename, content_type=media_type)
    return form
