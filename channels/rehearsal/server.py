"""The server under every rehearsal: it listens on loopback, keeps a journal, and obeys the control API."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from pydantic import JsonValue

from channels.rehearsal.control import Control, Unsayable
from channels.rehearsal.faults import Faults
from channels.rehearsal.journal import Journal, Recorded

__all__ = ["Rehearsal", "Rehearsed", "Unsayable", "dropped"]

BODY_MAX = 60_000_000
"""Bytes of a request; the providers' own limits are lower."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How to connect to a running rehearsal: settings and secrets of a connection, and the control address.

    `by_webhook` is True where the provider has to be told the connection's hook URL.
    """

    settings: Mapping[str, JsonValue]
    secrets: Mapping[str, str]
    control_url: str
    by_webhook: bool = False


class Rehearsal(ABC):
    """A stand-in for one provider. Subclasses add the provider's own routes and `say`.

    `port` 0 takes a free one. `open_control` lets other machines use the control API too.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, open_control: bool = False) -> None:
        self.faults = Faults()
        self.journal = Journal()
        self.hook_url = ""
        self._control = Control(self, anywhere=open_control)
        self._tasks: set[asyncio.Task[None]] = set()
        self._host, self._port = host, port
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens, without a trailing slash."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def record(self) -> list[Recorded]:
        """Every call so far."""
        return self.journal.calls(0)

    @abstractmethod
    def routes(self, router: web.UrlDispatcher) -> None:
        """Add the provider's own routes."""

    @abstractmethod
    async def say(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let a user do something; `{"chat", "ref"}` of what was made. Raises Unsayable."""

    async def set_hook(self, url: str) -> None:
        """Deliver there from now on. Raises Unsayable where the provider wouldn't take it."""
        self.hook_url = url

    async def reset(self) -> None:
        """Forget what was said, called and set. Subclasses forget their people too."""
        self.faults.forget()
        self.journal.clear()

    def background(self, work: Coroutine[None, None, None]) -> None:
        """Run something beside the server, until it ends or the server does."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def recorded(self, method: str, params: dict[str, Any], status: int, answer: Any) -> None:
        """Remember a call; status 0 where it got no answer."""
        self.journal.record(method, params, status, answer)

    async def said(self, chat: str, ref: str, text: str, method: str, **more: Any) -> None:
        """Remember what the bot said, and wake whoever waits for it."""
        self.journal.reply(chat, ref, text, method, **more)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=BODY_MAX)
        self._control.routes(app.router)
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


def dropped(request: web.Request) -> web.Response:
    """Close the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
