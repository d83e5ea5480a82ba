"""A strict stand-in for Slack, on loopback: one app, installed in one workspace or in several."""

from __future__ import annotations

import asyncio
import json
import math
from types import TracebackType
from typing import Any

from aiohttp import web

from channels.rehearsal.faults import Fault
from channels.rehearsal.server import Rehearsal, Unsayable, dropped
from channels.slack.rehearsal.chat import told
from channels.slack.rehearsal.delivery import Delivery
from channels.slack.rehearsal.errors import ApiError
from channels.slack.rehearsal.method import Method
from channels.slack.rehearsal.sockets import Sockets
from channels.slack.rehearsal.workspace import VERIFICATION_TOKEN, Surroundings, Workspace
from channels.slack.rehearsal.world import World

Json = dict[str, Any]

# None is a secret: they open nothing but this server.
BOT_TOKEN = "xoxb-1000000001-1000000002-" + "R" * 24
APP_TOKEN = "xapp-1-A0REHEARSAL-1000000003-" + "r" * 64
SIGNING_SECRET = "0123456789abcdef" * 2

SCOPES = (
    "app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
    "groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "mpim:read",
    "reactions:read", "reactions:write", "users:read",
)  # fmt: skip


SAYING = {"chat.postMessage", "chat.update", "files.completeUploadExternal"}


class SlackRehearsal(Rehearsal):
    """Slack for one app. `per_channel` is the pause in seconds it wants between posts in a channel, 0 for none.

    The app is installed in `team`, and in `more_teams` with a token each: what is said there names its `workspace`, and
    its chats are `TEAM-ID:CHAT-ID` in the control API. `retry_scale` shortens the waits between retries, `patience` is
    how many seconds an event waits to be acknowledged, `echoes` whether the app is told of its own posts. Of a fault
    with a status below 500, `description` is the error that Slack answers, with status 200 as it does; 429 is answered
    as such, with Retry-After.
    """

    def __init__(
        self,
        *,
        bot_token: str = BOT_TOKEN,
        app_token: str = APP_TOKEN,
        signing_secret: str = SIGNING_SECRET,
        team: str = "rehearsal",
        more_teams: tuple[str, ...] = (),
        bot_name: str = "rehearsal_bot",
        scopes: tuple[str, ...] = SCOPES,
        host: str = "127.0.0.1",
        port: int = 0,
        hook_url: str = "",
        per_channel: float = 0.0,
        retry_scale: float = 1.0,
        patience: float = 3.0,
        echoes: bool = True,
    ) -> None:
        super().__init__(host, port)
        self.hook_url = hook_url
        self.app_token, self.signing_secret = app_token, signing_secret
        self.pings: list[str] = []
        self._scopes = scopes
        worlds = [World(name, bot_name, first=not number) for number, name in enumerate((team, *more_teams))]
        self.delivery = Delivery(
            lambda arrived: Sockets(worlds[0].app_id, patience, arrived),
            lambda: self.hook_url,
            self.background,
            signing_secret=signing_secret,
            patience=patience,
            retry_scale=retry_scale,
        )
        around = Surroundings(
            delivery=self.delivery,
            journal=self.journal,
            reordered=self.faults.reordered,
            background=self.background,
            disconnect=self._disconnect,
            url=lambda: self.url,
            scopes=scopes,
            per_channel=per_channel,
            echoes=echoes,
        )
        self.workspaces = [
            Workspace(around, world, *((_token(world), f"{world.team_id}:") if number else (bot_token,)))
            for number, world in enumerate(worlds)
        ]
        self._open_method = Method(self._open, app=True)

    @property
    def world(self) -> World:
        """The first workspace's people, conversations and files."""
        return self.workspaces[0].world

    @property
    def bot_token(self) -> str:
        """The first workspace's token."""
        return self.workspaces[0].bot_token

    @property
    def base_url(self) -> str:
        """The base URL as slack-sdk takes it."""
        return f"{self.url}/api/"

    def routes(self, router: web.UrlDispatcher) -> None:
        """The Web API, websockets, response URLs, and the two ways of a file."""
        router.add_route("*", "/api/{method}", self._call)
        router.add_get("/link/", self.delivery.sockets.serve)
        router.add_post("/response/{ticket}", self._respond)
        router.add_post("/upload/v1/{ticket}", self._upload)
        router.add_get("/files-pri/{team_and_file}/{name}", self._file)
        router.add_get("/files-pri/{team_and_file}/download/{name}", self._file)

    async def say(self, request: Json) -> Json:
        """Let a person write, press, react, edit, delete; the app be uninstalled or disconnected. Raises Unsayable."""
        given = dict(request)
        team, _, chat = str(given.get("chat") or "").rpartition(":")
        if team:
            given["chat"] = chat
        wanted = str(given.pop("workspace", "") or team)
        workspace = next((w for w in self.workspaces if wanted in ("", w.world.team, w.world.team_id)), None)
        if workspace is None:
            raise Unsayable(f"workspace is one of {', '.join(w.world.team for w in self.workspaces)}")
        return await workspace.say(given, twice=self.faults.duplicates())

    async def set_hook(self, url: str) -> None:
        """Deliver there from now on, once it answered Slack's challenge. Raises Unsayable."""
        if url and not await self.delivery.verify(url, VERIFICATION_TOKEN):
            raise Unsayable("Your URL didn't respond with the value of the challenge parameter.")
        await super().set_hook(url)
        self.delivery.reachable()

    async def reset(self) -> None:
        """Forget everyone and everything; the app is installed, and its sockets stay."""
        await super().reset()
        for workspace in self.workspaces:
            workspace.forget()
        self.pings.clear()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.delivery.sockets.close()
        await super().__aexit__(kind, error, trace)
        await self.delivery.close()

    async def _call(self, request: web.Request) -> web.Response:
        name = request.match_info["method"]
        try:
            params, token = await _params(request)
        except ApiError as error:
            return web.json_response(error.answer)
        fault = self.faults.take(name)
        if fault is not None:
            await asyncio.sleep(fault.delay)
            if fault.drop == "before":
                return dropped(request)
            if fault.status is not None:
                return self._faulty(name, params, fault)
        is_json = request.content_type == "application/json"
        answer, headers = await self._answer(name, params, token, is_json=is_json)
        status = 429 if answer.get("error") == "ratelimited" else 200
        self._record(name, params, status, answer)
        if fault is not None and fault.drop == "after":
            return dropped(request)
        return web.json_response(answer, status=status, headers=headers)

    async def _answer(self, name: str, params: Json, token: str, *, is_json: bool) -> tuple[Json, dict[str, str]]:
        if name == "api.test":
            return _api_test(params), {}
        headers = {"x-oauth-scopes": ",".join(self._scopes), "x-accepted-oauth-scopes": ""}
        try:
            method = self._method(name, token)
            headers["x-accepted-oauth-scopes"] = method.scope
            return {"ok": True, **await method.act({} if is_json and method.form else params)}, headers
        except ApiError as error:
            wait = error.more.pop("retry_after", None)
            return error.answer, headers if wait is None else {**headers, "Retry-After": str(wait)}

    def _method(self, name: str, token: str) -> Method:
        """The method that a token may call: each workspace has its own. Raises ApiError."""
        workspace = next((w for w in self.workspaces if w.bot_token == token), None)
        method = (
            self._open_method if name == "apps.connections.open" else (workspace or self.workspaces[0]).method(name)
        )
        if method is None:
            raise ApiError("unknown_method", req_method=name)
        if not token:
            raise ApiError("not_authed")
        if workspace is not None:
            workspace.authorise(method)
        elif token != self.app_token:
            raise ApiError("invalid_auth")
        elif not method.app:
            raise ApiError("not_allowed_token_type")
        return method

    def _faulty(self, name: str, params: Json, fault: Fault) -> web.Response:
        headers: dict[str, str] = {}
        status = fault.status or 500
        if status == 429:
            code = "ratelimited"
            headers = {"Retry-After": str(math.ceil(fault.retry_after if fault.retry_after is not None else 1))}
        else:
            code = fault.description or "internal_error"
            status = status if status >= 500 else 200
        answer = ApiError(code).answer
        self._record(name, params, status, answer)
        return web.json_response(answer, status=status, headers=headers)

    def _record(self, name: str, params: Json, status: int, answer: Json) -> None:
        """Remember a call; of one that said something, with the pings in it."""
        if name in SAYING:
            pings = told(params) if answer["ok"] else []
            self.pings += pings
            answer = {**answer, "pings": pings}
        self.recorded(name, params, status, answer)

    async def _open(self, _params: Json) -> Json:
        query = f"ticket={self.delivery.sockets.ticket()}&app_id={self.world.app_id}"
        return {"url": f"{self.url.replace('http', 'ws', 1)}/link/?{query}"}

    async def _respond(self, request: web.Request) -> web.Response:
        ticket = request.match_info["ticket"]
        its = next((w for w in self.workspaces if w.interactions.knows(ticket)), self.workspaces[0])
        return await its.interactions.respond(request)

    async def _upload(self, request: web.Request) -> web.Response:
        ticket = request.match_info["ticket"]
        its = next((w for w in self.workspaces if w.files.expects(ticket)), self.workspaces[0])
        return await its.files.upload(request)

    async def _file(self, request: web.Request) -> web.Response:
        team, _, file_id = request.match_info["team_and_file"].rpartition("-")
        its = next((w for w in self.workspaces if w.world.team_id == team), self.workspaces[0])
        return its.file(file_id, request.headers.get("Authorization", ""))

    async def _disconnect(self, reason: str) -> None:
        await self.delivery.sockets.disconnect(reason)
        self.background(self.delivery.sockets.expire())


def _token(world: World) -> str:
    """A bot token for one more workspace."""
    return f"xoxb-1000000001-{int.from_bytes(world.team_id.encode()[-4:], 'big')}-{'R' * 24}"


async def _params(request: web.Request) -> tuple[Json, str]:
    """Parameters, and the token: of a JSON body only the header's counts. Raises ApiError."""
    bearer = request.headers.get("Authorization", "")
    token = bearer.removeprefix("Bearer ") if bearer.startswith("Bearer ") else ""
    params: Json = dict(request.query)
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.read() or b"{}")
        except ValueError:
            raise ApiError("invalid_json") from None
        if not isinstance(body, dict):
            raise ApiError("json_not_object")
        body.pop("token", None)
        return params | body, token
    params |= dict(await request.post())
    return params, str(params.pop("token", "")) or token


def _api_test(params: Json) -> Json:
    args = {"args": params} if params else {}
    return {"ok": False, "error": params["error"], **args} if params.get("error") else {"ok": True, **args}
