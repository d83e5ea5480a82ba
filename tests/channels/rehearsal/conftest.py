"""The smallest provider there could be: whoever is written to is answered by HTTP, and a bot's post is heard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from channels.rehearsal import Rehearsal, RehearsalClient
from channels.rehearsal.server import Unsayable, dropped


class Plain(Rehearsal):
    """One method, `post`; what users say lies in `came` in the order of delivery."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.came: list[str] = []

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/post", self._post)

    async def say(self, request: dict[str, Any]) -> dict[str, Any]:
        if not request["text"]:
            raise Unsayable("a message needs text")
        for text in self.faults.reordered(request["text"]):
            self.came += [text, text] if self.faults.duplicates() else [text]
        return {"chat": request.get("chat", "lobby"), "ref": str(len(self.came))}

    async def _post(self, request: web.Request) -> web.Response:
        params = await request.json()
        fault = self.faults.take("post")
        if fault is not None and fault.drop == "before":
            return dropped(request)
        if fault is not None and fault.status is not None:
            self.recorded("post", params, fault.status, None)
            return web.Response(status=fault.status)
        if params.get("typing"):
            self.journal.typing(params["chat"], 5.0)
        else:
            await self.said(params["chat"], params.get("ref", "r"), params["text"], "post")
        self.recorded("post", params, 200, "ok")
        return dropped(request) if fault is not None else web.Response(text="ok")


@pytest.fixture
async def server() -> AsyncIterator[Plain]:
    async with Plain() as server:
        yield server


@pytest.fixture
async def phone(server: Plain) -> AsyncIterator[RehearsalClient]:
    async with RehearsalClient(server.url) as client:
        yield client


@pytest.fixture
async def http(server: Plain) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url) as session:
        yield session
