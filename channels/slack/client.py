"""Slack's Web API through slack-sdk's AsyncWebClient, with its errors told apart.

Imported only when a Slack connection is opened: slack-sdk takes a fifth of a second to import.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from pydantic import JsonValue
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from channels.errors import SendRefused, SendRetry
from channels.slack.account import Account
from channels.slack.settings import PUBLIC_API

CALL_SECONDS = 20.0
UPLOAD_SECONDS = 120.0

BROKEN = {
    "account_inactive": "The app was removed, or its workspace is gone.",
    "invalid_auth": "Slack doesn't know this token.",
    "not_authed": "Slack was given no token.",
    "token_expired": "The token has expired.",
    "token_revoked": "The token was revoked.",
    "not_allowed_token_type": "The token is of the wrong kind.",
    "missing_scope": "The token lacks a scope.",
}
"""Error codes after which nothing works until a person acts."""

PASSING = {
    "rate_limited": False,
    "ratelimited": False,
    "message_limit_exceeded": False,
    "service_unavailable": False,
    "request_timeout": False,
    "team_added_to_org": False,
    "org_login_required": False,
    "external_channel_migrating": False,
    "fatal_error": None,
    "internal_error": None,
}
"""Error codes that pass by themselves, and whether the call may have been carried out all the same."""


class SlackClient:
    """Calls of one installation. `web` is the library's client, kept to one attempt: the ledger tries again."""

    def __init__(self, token: str, base_url: str) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._public = base_url == PUBLIC_API
        self.web = AsyncWebClient(token=token, base_url=base_url, retry_handlers=[])
        self.bare(self.web)

    def bare(self, web: AsyncWebClient) -> None:
        """Let a client pass by the environment's proxy where the API isn't Slack's own."""
        if not self._public:
            web.proxy = None

    async def call(self, method: str, params: Mapping[str, JsonValue]) -> AsyncSlackResponse:
        """One call. Raises SendRetry or SendRefused, with Slack's error code as its reason."""
        async with self._telling():
            return await self.web.api_call(method, json=dict(params))

    async def identify(self) -> tuple[Account, AsyncSlackResponse]:
        """Whose token this is, and Slack's whole answer. Raises SendRetry or SendRefused."""
        async with self._telling():
            answer = await self.web.auth_test()
            if not answer.get("team_id") or not answer.get("user_id"):
                raise ValueError("an account without a workspace")
            account = Account(
                team_id=str(answer["team_id"]),
                user_id=str(answer["user_id"]),
                bot_id=str(answer.get("bot_id") or ""),
                enterprise_id=str(answer.get("enterprise_id") or ""),
                is_org=answer.get("is_enterprise_install") is True,
                name=str(answer.get("team") or ""),
            )
            return account, answer

    async def open_socket(self, app_token: str) -> str:
        """The address of a new socket. Raises SendRetry or SendRefused."""
        async with self._telling():
            return str((await self.web.apps_connections_open(app_token=app_token))["url"])

    async def file(self, file_id: str) -> Mapping[str, Any]:
        """What Slack knows of a file. Raises SendRetry or SendRefused."""
        async with self._telling():
            answer = await self._ask("files.info", file=file_id)
            return dict(answer["file"])

    async def upload(self, params: Mapping[str, JsonValue]) -> str:
        """Share a file from disk: its id. Raises SendRetry, SendRefused or OSError."""
        path, name = Path(str(params["path"])), str(params["filename"])
        size = _size(path)
        if size == 0:
            raise SendRefused("An empty file can't be sent.", reason="empty_file")
        async with self._telling(sent=False):  # nothing is seen before the last step
            ticket = await self._ask("files.getUploadURLExternal", filename=name, length=str(size))
            await self._upload(str(ticket["upload_url"]), path)
        shared = {key: value for key, value in params.items() if key in ("channel_id", "thread_ts")}
        await self.call("files.completeUploadExternal", {**shared, "files": [{"id": ticket["file_id"], "title": name}]})
        return str(ticket["file_id"])

    async def respond(self, url: str, message: Mapping[str, JsonValue]) -> bool:
        """Answer at the address a slash command came with; False where that is used up. Raises SendRetry."""
        async with self._telling(), self._open().post(url, json=dict(message), proxy=self.web.proxy) as response:
            if response.status == 429:
                raise SendRetry("Slack asks to slow down.", after=_seconds(response.headers))
            if response.status >= 500:
                raise SendRetry(f"Slack answered {response.status}.", sent=None)
            return response.status == 200

    async def close(self) -> None:
        """Close the connection pool."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=CALL_SECONDS, sock_connect=5)
            self._session = self.web.session = aiohttp.ClientSession(timeout=timeout)
        return self._session

    async def _ask(self, method: str, **params: str) -> AsyncSlackResponse:
        """Call a method that takes no JSON, as a form: the library's own would put it all into the address."""
        return await self.web.api_call(method, data=params)

    async def _upload(self, url: str, path: Path) -> None:
        timeout = aiohttp.ClientTimeout(total=UPLOAD_SECONDS, sock_connect=5)
        with path.open("rb") as file:
            async with self._open().post(url, data=file, proxy=self.web.proxy, timeout=timeout) as response:
                if response.status != 200:
                    raise SendRetry(f"Slack's upload address answered {response.status}.", sent=False)

    @asynccontextmanager
    async def _telling(self, sent: bool | None = None) -> AsyncIterator[None]:
        """Tell what failed; `sent` says whether a call that broke off may have been carried out."""
        self._open()
        try:
            yield
        except SlackApiError as error:
            told = send_error(error)
            if isinstance(told, SendRetry) and told.sent is None:
                told.sent = sent
            raise told from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise SendRetry("Slack can't be reached.", sent=False) from error
        except (TimeoutError, aiohttp.ClientError) as error:
            raise SendRetry(f"Slack did not answer: {type(error).__name__}.", sent=sent) from error
        except (SlackClientError, AttributeError, KeyError, TypeError, ValueError) as error:  # not a JSON object
            raise SendRetry("Slack answered with something unreadable.", sent=sent) from error


def _size(path: Path) -> int:
    return path.stat().st_size


def send_error(error: SlackApiError) -> SendRetry | SendRefused:
    """What a failed call means for a delivery."""
    response = error.response
    status = getattr(response, "status_code", getattr(response, "status", 0))
    headers = getattr(response, "headers", {})
    data = getattr(response, "data", None)
    code = str(data.get("error") or "") if isinstance(data, Mapping) else ""
    if status == 429 or code in ("rate_limited", "ratelimited"):
        return SendRetry("Slack asks to slow down.", after=_seconds(headers), sent=False)
    if code in BROKEN:
        needed = f" It needs {data['needed']}." if isinstance(data, Mapping) and data.get("needed") else ""
        return SendRefused(
            f"{BROKEN[code]}{needed}",
            reason=code,
            fix="Install the app again at api.slack.com/apps, and add the connection with the token it shows.",
            connection_broken=True,
        )
    if code in PASSING:
        return SendRetry(f"Slack failed for now: {code}.", sent=PASSING[code])
    if status >= 500 or not code:
        return SendRetry(f"Slack answered {status} with nothing readable.", sent=None)
    return SendRefused(f"Slack refused: {code}.{_complaints(data)}", reason=code)


def _complaints(data: Any) -> str:
    """What exactly Slack finds wrong, as `invalid_blocks` tells."""
    metadata = data.get("response_metadata") if isinstance(data, Mapping) else None
    messages = metadata.get("messages") if isinstance(metadata, Mapping) else None
    return f" {' '.join(map(str, messages))}" if isinstance(messages, list) and messages else ""


def _seconds(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(headers["Retry-After"]))
    except (KeyError, ValueError):
        return None
