"""A far end that answers as it is told, an adapter opened as the gateway opens it, and a shelf for messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from channels.adapter import OpenConnection
from channels.message import InboundMessage
from channels.rehearsal.server import dropped
from channels.slack.adapter import SlackAdapter
from channels.slack.channel import CHANNEL
from channels.slack.settings import SlackSettings

HOOK = "https://example.org/hooks/team/secret"
AUTH = {"ok": True, "team": "Bakery", "team_id": "T1", "user": "shop", "user_id": "U0BOT", "bot_id": "B0BOT"}


@dataclass(frozen=True)
class Page:
    """An answer that isn't Slack's usual JSON with status 200."""

    status: int = 200
    text: str = ""
    kind: str = "text/plain"
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Page | dict[str, Any] | None
"""A page, a JSON answer with status 200, or None to break the connection. `{"hang": True}` never answers."""


class FarEnd:
    """Answers each call of a method with the next answer set for it; the last one stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {"auth.test": [AUTH]}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.url = ""

    def answer(self, method: str, *answers: Answer) -> None:
        self.answers[method] = list(answers)

    async def handle(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        is_json = request.content_type == "application/json"
        is_form = request.content_type == "application/x-www-form-urlencoded"
        asked: Any = await request.json() if is_json else dict(await request.post()) if is_form else {}
        if not asked:
            asked = {"body": await request.read()}
        self.calls.append((method, asked))
        answers = self.answers[method]
        answer = answers[0] if len(answers) == 1 else answers.pop(0)
        match answer:
            case None:
                return dropped(request)
            case {"hang": True}:
                await asyncio.Event().wait()
            case Page(status, text, kind, headers):
                return web.Response(status=status, text=text, content_type=kind, headers=headers)
        return web.json_response(answer)

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.calls]


@asynccontextmanager
async def far_end() -> AsyncIterator[FarEnd]:
    far = FarEnd()
    app = web.Application()
    app.router.add_route("*", "/{place:(api|files|hooks)}/{method}", far.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    far.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield far
    finally:
        await runner.cleanup()


@asynccontextmanager
async def opened(
    base_url: str, *, hook_url: str = HOOK, mode: Any = "auto", home_team: str = "", **secrets: str
) -> AsyncIterator[SlackAdapter]:
    settings = SlackSettings(mode=mode, base_url=base_url, home_team=home_team)
    secrets = {"bot_token": "xoxb-1", **(secrets or {"signing_secret": "s" * 32})}
    async with CHANNEL.open(OpenConnection("team", settings, secrets, hook_url)) as adapter:
        assert isinstance(adapter, SlackAdapter)
        adapter._backoff = 0.001
        yield adapter


class Shelf:
    """Takes messages in; fails first as often as it is told to."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.refused = 0
        self.kept: list[InboundMessage] = []
        self._changed = asyncio.Condition()

    async def __call__(self, messages: Sequence[InboundMessage]) -> None:
        if self.failures:
            self.refused += 1
            raise self.failures.pop(0)
        self.kept += messages
        async with self._changed:
            self._changed.notify_all()

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.kept]

    async def has(self, count: int) -> None:
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.kept) >= count)


@asynccontextmanager
async def receiving(adapter: SlackAdapter, intake: Shelf) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(adapter.receive(intake))
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
