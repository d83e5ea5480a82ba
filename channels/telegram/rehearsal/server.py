"""A strict stand-in for the Bot API, on loopback, for one bot."""

from __future__ import annotations

import asyncio
import re
from types import TracebackType
from typing import Any

from aiohttp import web
from pydantic_core import to_json

from channels.rehearsal.faults import Fault
from channels.rehearsal.server import Rehearsal, dropped
from channels.telegram.rehearsal.errors import ApiError, bad_request
from channels.telegram.rehearsal.methods import Bot, find
from channels.telegram.rehearsal.methods.bot import Result
from channels.telegram.rehearsal.pace import Pace
from channels.telegram.rehearsal.params import read
from channels.telegram.rehearsal.people import People
from channels.telegram.rehearsal.updates import Updates
from channels.telegram.rehearsal.world import World

Json = dict[str, Any]

TOKEN = "1000000001:" + "R" * 35  # not a secret: it opens nothing but this server
_TOKEN = re.compile(r"^\d+:[A-Za-z0-9_-]{30,}$")

WORDS = {
    400: "Bad Request: rehearsed fault",
    401: "Unauthorized",
    403: "Forbidden: rehearsed fault",
    404: "Not Found",
    409: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    413: "Request Entity Too Large",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}
"""What a fault says that is given no words."""


class TelegramRehearsal(Rehearsal):
    """The Bot API for one token.

    `per_chat` is the pause in seconds it wants between messages in a chat, `per_group` how many messages a minute it
    takes for a group and `per_second` how many in all, each 0 for none. `retry_scale` shortens the waits between tries
    of a webhook; `sees_all` is privacy mode off. `open_control` lets other machines use the control API.
    """

    def __init__(
        self,
        *,
        token: str = TOKEN,
        username: str = "rehearsal_bot",
        host: str = "127.0.0.1",
        port: int = 0,
        per_chat: float = 0.0,
        per_group: int = 0,
        per_second: int = 0,
        retry_scale: float = 1.0,
        sees_all: bool = True,
        open_control: bool = False,
    ) -> None:
        super().__init__(host, port, open_control=open_control)
        self.token = token
        self.world = World(token, username, sees_all=sees_all)
        self.updates = Updates(self.faults, self._execute, retry_scale)
        pace = Pace(per_chat, per_group, per_second)
        self._bot = Bot(self.world, self.updates, pace, self.said, self.journal.typing)
        self._people = People(self.world, self.updates)

    @property
    def base_url(self) -> str:
        """The base URL as python-telegram-bot takes it."""
        return f"{self.url}/bot"

    def routes(self, router: web.UrlDispatcher) -> None:
        """`/bot<token>/<method>` and `/file/bot<token>/<path>`, by GET and POST."""
        router.add_get("/bot{token}/{method}", self._call)
        router.add_post("/bot{token}/{method}", self._call)
        router.add_get("/file/bot{token}/{path:.+}", self._file)
        router.add_route("*", "/{path:.*}", self._nothing)

    async def say(self, request: Json) -> Json:
        """Let a user write, press, react, edit, come and go; a group migrate; the bot be barred. Raises Unsayable."""
        return self._people.act(request)

    async def reset(self) -> None:
        """Forget everybody; the webhook and the kinds of updates asked for stay as they were set."""
        await super().reset()
        self.world.clear()
        self.updates.drop()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.updates.close()
        await super().__aexit__(kind, error, trace)

    async def _call(self, request: web.Request) -> web.Response:
        name, _ = find(request.match_info["method"])
        try:
            self._authorise(request.match_info["token"])
            params = await read(request)
        except ApiError as error:
            return self._recorded(name, dict(request.query), error.code, _envelope(error))
        fault = self.faults.take(name)
        if fault is not None:
            await asyncio.sleep(fault.delay)
            if fault.drop == "before":
                self.recorded(name, params, 0, None)
                return dropped(request)
            if fault.status is not None:
                return self._recorded(name, params, fault.status, _envelope(_refusal(fault)))
        status, answer = await self._answer(name, params)
        response = self._recorded(name, params, status, answer)
        return dropped(request) if fault is not None and fault.drop == "after" else response

    async def _answer(self, name: str, params: Json) -> tuple[int, Json]:
        _, act = find(name)
        try:
            if act is None:
                raise ApiError(404, "Not Found: method not found")
            result = await act(self._bot, params)
        except ApiError as error:
            return error.code, _envelope(error)
        if isinstance(result, Result):
            return 200, {"ok": True, "result": result.value, "description": result.description}
        return 200, {"ok": True, "result": result}

    async def _execute(self, answer: Json) -> None:
        """A call that came in a webhook's answer."""
        name, _ = find(str(answer["method"]))
        params = {k: v for k, v in answer.items() if k != "method" and v is not None}
        self.recorded(name, params, *await self._answer(name, params))

    def _recorded(self, name: str, params: Json, status: int, answer: Json) -> web.Response:
        self.recorded(name, params, status, answer)
        wait = answer.get("parameters", {}).get("retry_after")
        headers = {"Retry-After": str(wait)} if wait is not None else None
        return web.Response(body=to_json(answer), status=status, content_type="application/json", headers=headers)

    def _authorise(self, token: str) -> None:
        if not _TOKEN.match(token):
            raise ApiError(404, "Not Found")
        if token != self.token:
            raise ApiError(401, "Unauthorized")

    async def _file(self, request: web.Request) -> web.Response:
        try:
            self._authorise(request.match_info["token"])
        except ApiError as error:
            return _json(error)
        file_id = self.world.paths.get(request.match_info["path"], "")
        if file_id not in self.world.files:
            return _json(ApiError(404, "Not Found"))
        return web.Response(body=self.world.files[file_id][1], content_type="application/octet-stream")

    async def _nothing(self, _request: web.Request) -> web.Response:
        return _json(ApiError(404, "Not Found"))


def _refusal(fault: Fault) -> ApiError:
    status = fault.status or 500
    if status == 429:
        wait = 1.0 if fault.retry_after is None else fault.retry_after
        return ApiError(429, fault.description or f"Too Many Requests: retry after {wait:g}", retry_after=wait)
    words = fault.description or WORDS.get(status, "")
    return ApiError(status, words) if words else bad_request("rehearsed fault")


def _envelope(error: ApiError) -> Json:
    answer: Json = {"ok": False, "error_code": error.code, "description": error.description}
    return {**answer, "parameters": error.parameters} if error.parameters else answer


def _json(error: ApiError) -> web.Response:
    return web.json_response(_envelope(error), status=error.code)
