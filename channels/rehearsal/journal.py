"""What a rehearsal server remembers: every call, what the bot said, and who waits to hear it."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeVar

KEPT = 20_000
"""Calls and replies that are remembered; older ones are forgotten first."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call as it came, and what it was answered. `at` is in seconds since the epoch; status 0: no answer."""

    n: int
    at: float
    method: str
    params: dict[str, Any]
    status: int
    answer: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """One thing the bot said. `text` is what a person reads; `markup` is what was sent; `files` are as `seen` tells."""

    n: int
    chat: str
    ref: str
    text: str
    method: str
    markup: str = ""
    buttons: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    files: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


Numbered = TypeVar("Numbered", Recorded, Reply)


class Journal:
    """Calls and replies, numbered together: a position is the number of the last one so far."""

    def __init__(self) -> None:
        self.position = 0
        self._calls: deque[Recorded] = deque(maxlen=KEPT)
        self._replies: deque[Reply] = deque()
        self._chats: dict[str, deque[Reply]] = {}
        self._waiting: dict[str | None, set[asyncio.Future[None]]] = {}
        self._typing: dict[str, float] = {}

    def record(self, method: str, params: dict[str, Any], status: int, answer: Any) -> None:
        """Remember a call; of its parameters what JSON can tell, so not the bytes of a file."""
        told = {name: value for name, value in params.items() if isinstance(value, (str, int, float, dict, list))}
        self.position += 1
        self._calls.append(Recorded(self.position, time.time(), method, told, status, answer))

    def reply(self, chat: str, ref: str, text: str, method: str, **more: Any) -> None:
        """Remember what the bot said, and wake whoever waits for it."""
        self.position += 1
        reply = Reply(self.position, chat, ref, text, method, **more)
        self._replies.append(reply)
        self._chats.setdefault(chat, deque()).append(reply)
        self._typing.pop(chat, None)
        if len(self._replies) > KEPT:
            self._forget(self._replies.popleft())
        for waiting in (chat, None):
            for future in self._waiting.pop(waiting, ()):
                if not future.done():
                    future.set_result(None)

    def typing(self, chat: str, seconds: float) -> None:
        """The bot is seen typing in a chat for so long, or until it says something there."""
        self._typing[chat] = time.monotonic() + seconds

    def is_typing(self, chat: str | None) -> bool:
        """Whether the bot is seen typing in the chat; in any, without one."""
        now = time.monotonic()
        return any(until > now for where, until in self._typing.items() if chat in (None, where))

    def calls(self, after: int) -> list[Recorded]:
        """The calls after a position."""
        return _after(self._calls, after)

    def since(self, chat: str | None, after: int) -> list[Reply]:
        """What the bot said after a position, in one chat or in all."""
        return _after(self._replies if chat is None else self._chats.get(chat, deque[Reply]()), after)

    async def heard(self, chat: str | None, after: int, wait: float) -> list[Reply]:
        """What the bot said after a position; waits so many seconds for the first."""
        deadline = time.monotonic() + wait
        while not (found := self.since(chat, after)) and (left := deadline - time.monotonic()) > 0:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting = self._waiting.setdefault(chat, set())
            waiting.add(future)
            try:
                async with asyncio.timeout(left):
                    await future
            except TimeoutError:
                pass
            finally:
                waiting.discard(future)
                if not waiting and self._waiting.get(chat) is waiting:
                    del self._waiting[chat]
        return found

    def clear(self) -> None:
        """Forget everything; positions go on."""
        self._calls.clear()
        self._replies.clear()
        self._chats.clear()
        self._typing.clear()

    def _forget(self, oldest: Reply) -> None:
        replies = self._chats[oldest.chat]
        replies.popleft()
        if not replies:
            del self._chats[oldest.chat]


def seen(name: str, media_type: str, content: bytes) -> dict[str, Any]:
    """A file as it arrived, for a reply's `files`."""
    digest = hashlib.sha256(content).hexdigest()
    return {"name": name, "media_type": media_type, "size": len(content), "sha256": digest}


def _after(numbered: deque[Numbered], after: int) -> list[Numbered]:
    found: list[Numbered] = []
    for one in reversed(numbered):
        if one.n <= after:
            break
        found.append(one)
    return found[::-1]
