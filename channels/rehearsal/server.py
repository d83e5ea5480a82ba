"""The server under every rehearsal: it listens on loopback, records each call, and obeys the control API.

POST   /control/say       a user writes          {"text", "user", "chat", "kind", …}
GET    /control/replies   what the bot said       ?chat=&after=&wait=
POST   /control/faults    what goes wrong next    (channels.rehearsal.faults.Fault);  DELETE takes all away
GET    /control/record    every call so far       ?after=
"""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from pydantic import JsonValue, ValidationError

from channels.rehearsal.faults import Fault, Faults

KEPT = 200_000
"""Calls and replies that are remembered."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How to connect to a running rehearsal: settings and secrets of a connection, and the control address."""

    settings: Mapping[str, JsonValue]
    secrets: Mapping[str, str]
    control_url: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call as it came, and what it was answered."""

    n: int
    at: float
    method: str
    params: dict[str, Any]
    status: int
    answer: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """One thing the bot said. `text` is what a person reads; `markup` is what was sent."""

    n: int
    chat: str
    ref: str
    text: str
    method: str
    markup: str = ""
    buttons: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class Unsayable(ValueError):
    """A control request that makes no sense here."""


class Rehearsal(ABC):
    """A stand-in for one provider. Subclasses add the provider's own routes and `say`."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.faults = Faults()
        self.hook_url = ""
        self.record: deque[Recorded] = deque(maxlen=KEPT)
        self._replies: deque[Reply] = deque(maxlen=KEPT)
        self._heard = asyncio.Condition()
        self._count = 0
        self._calls = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._host, self._port = host, port
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens, without a trailing slash."""
        return f"http://{self._host}:{self._port}"

    @abstractmethod
    def routes(self, router: web.UrlDispatcher) -> None:
        """Add the provider's own routes."""

    @abstractmethod
    async def say(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let a user do something; `{"chat", "ref"}` of what was made. Raises Unsayable."""

    def background(self, work: Coroutine[None, None, None]) -> None:
        """Run something beside the server, until it ends or the server does."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def recorded(self, method: str, params: dict[str, Any], status: int, answer: Any) -> None:
        """Remember a call; of its parameters what JSON can tell, so not the bytes of a file."""
        told = {name: value for name, value in params.items() if isinstance(value, (str, int, float, dict, list))}
        self.record.append(Recorded(self._calls, time.time(), method, told, status, answer))
        self._calls += 1

    async def said(self, chat: str, ref: str, text: str, method: str, **more: Any) -> None:
        """Remember what the bot said, and wake whoever waits for it."""
        self._count += 1
        self._replies.append(Reply(self._count, chat, ref, text, method, **more))
        async with self._heard:
            self._heard.notify_all()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=60_000_000)
        app.router.add_post("/control/say", self._say)
        app.router.add_get("/control/replies", self._list_replies)
        app.router.add_post("/control/faults", self._set_fault)
        app.router.add_delete("/control/faults", self._clear_faults)
        app.router.add_get("/control/record", self._list_record)
        app.router.add_post("/control/hook", self._set_hook)
        self.routes(app.router)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()

    # -- the control API

    async def _say(self, request: web.Request) -> web.Response:
        after = self._count
        try:
            said = await self.say(json.loads(await request.read()))
        except (Unsayable, ValueError, KeyError, TypeError) as error:
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=400)
        return web.json_response({**said, "after": after})

    async def _list_replies(self, request: web.Request) -> web.Response:
        chat, after = request.query.get("chat"), int(request.query.get("after", "0"))
        deadline = time.monotonic() + min(60.0, float(request.query.get("wait", "0")))
        while True:
            found = self._since(chat, after)
            left = deadline - time.monotonic()
            if found or left <= 0:
                break
            try:
                async with asyncio.timeout(left), self._heard:
                    await self._heard.wait()
            except TimeoutError:
                pass
        return web.json_response({"replies": [asdict(r) for r in found], "next": found[-1].n if found else after})

    def _since(self, chat: str | None, after: int) -> list[Reply]:
        found: list[Reply] = []
        for reply in reversed(self._replies):
            if reply.n <= after:
                break
            if chat is None or reply.chat == chat:
                found.append(reply)
        return found[::-1]

    async def _set_fault(self, request: web.Request) -> web.Response:
        try:
            self.faults.add(Fault.model_validate_json(await request.read()))
        except ValidationError as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"ok": True})

    async def _clear_faults(self, _request: web.Request) -> web.Response:
        self.faults.clear()
        return web.json_response({"ok": True})

    async def _set_hook(self, request: web.Request) -> web.Response:
        self.hook_url = str((await request.json())["url"])
        return web.json_response({"ok": True})

    async def _list_record(self, request: web.Request) -> web.Response:
        after = int(request.query.get("after", "0"))
        return web.json_response({"calls": [asdict(call) for call in self.record if call.n >= after]})


def dropped(request: web.Request) -> web.Response:
    """Close the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
