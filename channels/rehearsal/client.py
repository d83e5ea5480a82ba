"""The other end of the control API: a user's phone in a program's hand."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import aiohttp

QUIET = 0.3
"""Seconds without a further piece, and without typing, after which a reply is complete."""

HOLD = 60.0
"""Seconds that one request waits at most; a longer wait is several requests."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a user said: where, the provider's id of it, and the position from which to wait for replies."""

    chat: str
    ref: str
    after: int


@dataclass(frozen=True, slots=True)
class Heard:
    """One thing the bot said."""

    n: int
    chat: str
    ref: str
    text: str
    method: str
    markup: str = ""
    buttons: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    files: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class RehearsalClient:
    """Speaks to one rehearsal server's control API. Its methods raise ValueError with the server's words of refusal."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=HOLD + 30)
        )

    async def say(self, text: str = "", **how: Any) -> Said:
        """Write as a user, or do what the channel's control API knows besides: `press`, `files`, `reply_to` …"""
        answer = await self._call("POST", "say", json={"text": text, **how})
        return Said(answer["chat"], answer["ref"], answer["after"])

    async def replies(self, *, chat: str | None = None, after: int = 0, wait: float = 0.0) -> list[Heard]:
        """What the bot said after a position; waits up to `wait` seconds for the first."""
        deadline = time.monotonic() + wait
        while True:
            left = deadline - time.monotonic()
            heard, _ = await self._hear(chat, after, max(0.0, min(HOLD, left)))
            if heard or left <= HOLD:
                return heard

    async def ask(self, text: str, *, timeout: float = 60.0, **how: Any) -> str:  # noqa: ASYNC109 - a long poll's own
        """Write, and return the whole reply: every piece, as last edited, once it is quiet. Raises TimeoutError."""
        deadline = time.monotonic() + timeout
        said = await self.say(text, **how)
        heard = await self.replies(chat=said.chat, after=said.after, wait=timeout)
        if not heard:
            raise TimeoutError
        pieces = {piece.ref: piece.text for piece in heard}
        while time.monotonic() < deadline:
            more, typing = await self._hear(said.chat, heard[-1].n, QUIET)
            if not more and not typing:
                break
            pieces |= {piece.ref: piece.text for piece in more}
            heard += more
        return "\n".join(pieces.values())

    async def fault(self, **fault: Any) -> None:
        """Let something go wrong; the words are those of `channels.rehearsal.faults.Fault`."""
        await self._call("POST", "faults", json=fault)

    async def clear_faults(self) -> None:
        """Let nothing go wrong any more."""
        await self._call("DELETE", "faults")

    async def hook(self, url: str) -> None:
        """Where the provider delivers from now on, for a channel whose webhook is set in the provider's console."""
        await self._call("POST", "hook", json={"url": url})

    async def record(self, after: int = 0) -> list[dict[str, Any]]:
        """The calls that the provider got after a position."""
        calls: list[dict[str, Any]] = (await self._call("GET", "record", params={"after": str(after)}))["calls"]
        return calls

    async def reset(self) -> None:
        """Let the provider forget everything."""
        await self._call("POST", "reset")

    async def _hear(self, chat: str | None, after: int, wait: float) -> tuple[list[Heard], bool]:
        query = {"after": str(after), "wait": str(wait), **({"chat": chat} if chat is not None else {})}
        answer = await self._call("GET", "replies", params=query)
        return [Heard(**reply) for reply in answer["replies"]], answer["typing"]

    async def _call(self, method: str, what: str, **how: Any) -> Any:
        async with self._session.request(method, f"{self._url}/control/{what}", **how) as response:
            answer = await response.json()
            if response.status != 200:
                raise ValueError(answer.get("error", response.status))
            return answer

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()
