"""A strict stand-in for Slack, on loopback: one workspace in which one app is installed."""

from __future__ import annotations

import asyncio
import json
import math
from types import TracebackType
from typing import Any

from aiohttp import web

from channels.rehearsal.faults import Fault
from channels.rehearsal.server import Rehearsal, Unsayable, dropped
from channels.slack.rehearsal.chat import Messages, told
from channels.slack.rehearsal.conversations import Conversations
from channels.slack.rehearsal.delivery import Delivery
from channels.slack.rehearsal.errors import ApiError
from channels.slack.rehearsal.events import Events
from channels.slack.rehearsal.files import Files
from channels.slack.rehearsal.interactions import Interactions
from channels.slack.rehearsal.method import Method
from channels.slack.rehearsal.people import People
from channels.slack.rehearsal.sockets import Sockets
from channels.slack.rehearsal.world import World

Json = dict[str, Any]

# None is a secret: they open nothing but this server.
BOT_TOKEN = "xoxb-1000000001-1000000002-" + "R" * 24
APP_TOKEN = "xapp-1-A0REHEARSAL-1000000003-" + "r" * 64
SIGNING_SECRET = "0123456789abcdef" * 2
VERIFICATION_TOKEN = "R" * 24

SCOPES = (
    "app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
    "groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "mpim:read",
    "reactions:read", "reactions:write", "users:read",
)  # fmt: skip


SAYING = {"chat.postMessage", "chat.update", "files.completeUploadExternal"}


class SlackRehearsal(Rehearsal):
    """Slack for one app. `per_channel` is the pause in seconds it wants between posts in a channel, 0 for none.

    `retry_scale` shortens the waits between retries, `patience` is how many seconds an event waits to be acknowledged,
    `echoes` whether the app is told of its own posts. Of a fault with a status below 500, `description` is the error
    that Slack answers, with status 200 as it does; 429 is answered as such, with Retry-After.
    """

    def __init__(
        self,
        *,
        bot_token: str = BOT_TOKEN,
        app_token: str = APP_TOKEN,
        signing_secret: str = SIGNING_SECRET,
        team: str = "rehearsal",
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
        self.bot_token, self.app_token, self.signing_secret = bot_token, app_token, signing_secret
        self.world = World(team, bot_name)
        self.pings: list[str] = []
        self.delivery = Delivery(
            lambda arrived: Sockets(self.world.app_id, patience, arrived),
            lambda: self.hook_url,
            self.background,
            signing_secret=signing_secret,
            patience=patience,
            retry_scale=retry_scale,
        )
        events = Events(self.world, self.delivery, self.faults.reordered, VERIFICATION_TOKEN)
        self._scopes = scopes
        self._revoked = ""
        messages = Messages(self.world, events, self.said, self.journal.typing, per_channel=per_channel, echoes=echoes)
        self._files = Files(self.world, messages, lambda: self.url)
        self._interactions = Interactions(
            self.world,
            self.delivery,
            self.said,
            self.background,
            url=lambda: self.url,
            verification_token=VERIFICATION_TOKEN,
        )
        self._people = People(
            self.world,
            events,
            self._interactions,
            url=lambda: self.url,
            revoke=self._revoke,
            disconnect=self._disconnect,
        )
        self._methods = {
            **messages.methods(),
            **Conversations(self.world).methods(),
            **self._files.methods(),
            "auth.test": Method(self._auth_test),
            "apps.connections.open": Method(self._open, app=True),
        }

    @property
    def base_url(self) -> str:
        """The base URL as slack-sdk takes it."""
        return f"{self.url}/api/"

    def routes(self, router: web.UrlDispatcher) -> None:
        """The Web API, websockets, response URLs, and the two ways of a file."""
        router.add_route("*", "/api/{method}", self._call)
        router.add_get("/link/", self.delivery.sockets.serve)
        router.add_post("/response/{ticket}", self._interactions.respond)
        router.add_post("/upload/v1/{ticket}", self._files.upload)
        router.add_get("/files-pri/{team_and_file}/{name}", self._file)
        router.add_get("/files-pri/{team_and_file}/download/{name}", self._file)

    async def say(self, request: Json) -> Json:
        """Let a person write, press, react, edit, delete; the app be uninstalled or disconnected. Raises Unsayable."""
        return await self._people.act(request, twice=self.faults.duplicates())

    async def set_hook(self, url: str) -> None:
        """Deliver there from now on, once it answered Slack's challenge. Raises Unsayable."""
        if url and not await self.delivery.verify(url, VERIFICATION_TOKEN):
            raise Unsayable("Your URL didn't respond with the value of the challenge parameter.")
        await super().set_hook(url)
        self.delivery.reachable()

    async def reset(self) -> None:
        """Forget everyone and everything; the app is installed, and its sockets stay."""
        await super().reset()
        self.world.forget()
        self.pings.clear()
        self._revoked = ""

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
            method = self._methods.get(name)
            if method is None:
                raise ApiError("unknown_method", req_method=name)
            self._authorise(token, method)
            headers["x-accepted-oauth-scopes"] = method.scope
            return {"ok": True, **await method.act({} if is_json and method.form else params)}, headers
        except ApiError as error:
            wait = error.more.pop("retry_after", None)
            return error.answer, headers if wait is None else {**headers, "Retry-After": str(wait)}

    def _authorise(self, token: str, method: Method) -> None:
        if not token:
            raise ApiError("not_authed")
        if token not in (self.bot_token, self.app_token):
            raise ApiError("invalid_auth")
        if (token == self.app_token) is not method.app:
            raise ApiError("not_allowed_token_type")
        if token == self.bot_token and self._revoked:
            raise ApiError(self._revoked)
        if method.scope and method.scope not in self._scopes:
            raise ApiError("missing_scope", needed=method.scope, provided=",".join(self._scopes))

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

    async def _auth_test(self, _params: Json) -> Json:
        return {
            "url": f"https://{self.world.team}.slack.com/",
            "team": self.world.team,
            "user": self.world.bot_name,
            "team_id": self.world.team_id,
            "user_id": self.world.bot,
            "bot_id": self.world.bot_id,
            "is_enterprise_install": False,
        }

    async def _open(self, _params: Json) -> Json:
        query = f"ticket={self.delivery.sockets.ticket()}&app_id={self.world.app_id}"
        return {"url": f"{self.url.replace('http', 'ws', 1)}/link/?{query}"}

    async def _file(self, request: web.Request) -> web.Response:
        bearer = request.headers.get("Authorization", "")
        allowed = bearer == f"Bearer {self.bot_token}" and "files:read" in self._scopes and not self._revoked
        return self._files.fetch(request.match_info["team_and_file"].rpartition("-")[2], allowed=allowed)

    def _revoke(self, error: str) -> None:
        self._revoked = error

    async def _disconnect(self, reason: str) -> None:
        await self.delivery.sockets.disconnect(reason)
        self.background(self.delivery.sockets.expire())


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
