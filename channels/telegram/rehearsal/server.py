"""A strict stand-in for the Bot API, on loopback, for one bot."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from aiohttp import web

from channels.rehearsal.server import Rehearsal, dropped
from channels.telegram.rehearsal.errors import ApiError
from channels.telegram.rehearsal.methods import Methods
from channels.telegram.rehearsal.people import People
from channels.telegram.rehearsal.updates import Updates
from channels.telegram.rehearsal.world import World

Json = dict[str, Any]

TOKEN = "1000000001:" + "R" * 35  # not a secret: it opens nothing but this server
_TOKEN = re.compile(r"^\d+:[A-Za-z0-9_-]{30,}$")


class TelegramRehearsal(Rehearsal):
    """The Bot API for one token. `per_chat` is the pause in seconds it wants between messages in a chat, 0 for none.

    `retry_scale` shortens the waits between webhook retries; `sees_all` is privacy mode off.
    """

    def __init__(
        self,
        *,
        token: str = TOKEN,
        username: str = "rehearsal_bot",
        host: str = "127.0.0.1",
        port: int = 0,
        per_chat: float = 0.0,
        retry_scale: float = 1.0,
        sees_all: bool = True,
    ) -> None:
        super().__init__(host, port)
        self.token = token
        self.world = World(token, username, sees_all=sees_all)
        self.updates = Updates(self.background, self._execute, retry_scale)
        self.methods = Methods(self.world, self.updates, self.said, per_chat)
        self._people = People(self.world, self.updates)

    @property
    def base_url(self) -> str:
        """The base URL as python-telegram-bot takes it."""
        return f"{self.url}/bot"

    def routes(self, router: web.UrlDispatcher) -> None:
        """`/bot<token>/<method>` and `/file/bot<token>/<path>`."""
        router.add_route("*", "/bot{token}/{method}", self._call)
        router.add_get("/file/bot{token}/files/{file_id}/{name}", self._file)

    async def say(self, request: Json) -> Json:
        """Let a user write, press, react, edit; a group migrate; the bot be barred. Raises Unsayable."""
        return self._people.act(request, twice=self.faults.duplicates())

    async def _call(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        try:
            self._authorise(request.match_info["token"])
            params = await _params(request)
        except ApiError as error:
            return _refusal(error)
        fault = self.faults.take(method)
        if fault is not None:
            await asyncio.sleep(fault.delay)
            if fault.drop == "before":
                return dropped(request)
            if fault.status is not None:
                return self._faulty(method, params, fault.status, fault.description, fault.retry_after)
        answer, status = await self._answer(method, params)
        if method.lower() != "getupdates":
            self.recorded(method, params, status, answer)
        if fault is not None and fault.drop == "after":
            return dropped(request)
        return web.json_response(answer, status=status)

    async def _answer(self, method: str, params: Json) -> tuple[Json, int]:
        try:
            act = self.methods.find(method)
            if act is None:
                raise ApiError(404, "Not Found: method not found")
            return {"ok": True, "result": await act(params)}, 200
        except ApiError as error:
            return _envelope(error), error.code
        except (KeyError, TypeError, ValueError) as error:
            return _envelope(ApiError(400, f"Bad Request: invalid parameter ({error})")), 400

    async def _execute(self, answer: Json) -> None:
        await self._answer(str(answer["method"]), {k: v for k, v in answer.items() if k != "method"})

    def _faulty(
        self, method: str, params: Json, status: int, description: str, retry_after: float | None
    ) -> web.Response:
        texts = {429: f"Too Many Requests: retry after {retry_after or 1:g}", 500: "Internal Server Error"}
        more = {"retry_after": retry_after if retry_after is not None else 1} if status == 429 else {}
        error = ApiError(status, description or texts.get(status, "Bad Request: rehearsed fault"), **more)
        self.recorded(method, params, status, _envelope(error))
        return _refusal(error)

    def _authorise(self, token: str) -> None:
        if not _TOKEN.match(token):
            raise ApiError(404, "Not Found")
        if token != self.token:
            raise ApiError(401, "Unauthorized")

    async def _file(self, request: web.Request) -> web.Response:
        found = self.world.files.get(request.match_info["file_id"])
        if request.match_info["token"] != self.token or found is None:
            return _refusal(ApiError(404, "Not Found"))
        return web.Response(body=found[1], content_type="application/octet-stream")


async def _params(request: web.Request) -> Json:
    """Parameters from the query, a form, a multipart body or JSON. Raises ApiError."""
    params: Json = dict(request.query)
    if request.method == "POST":
        if request.content_type == "application/json":
            try:
                params |= json.loads(await request.read() or b"{}")
            except ValueError:
                raise ApiError(400, "Bad Request: can't parse JSON object") from None
        else:
            params |= dict(await request.post())
    for name, value in list(params.items()):
        if isinstance(value, str) and value.startswith("attach://"):
            params[name] = params.pop(value.removeprefix("attach://"), "")
    return params


def _envelope(error: ApiError) -> Json:
    answer: Json = {"ok": False, "error_code": error.code, "description": error.description}
    return {**answer, "parameters": error.parameters} if error.parameters else answer


def _refusal(error: ApiError) -> web.Response:
    return web.json_response(_envelope(error), status=error.code)
