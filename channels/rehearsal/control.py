"""The control API, the same for every channel: a user's phone, faults and the record, over HTTP in JSON.

POST   /control/say       a user does something    {"text", "user", "chat", "kind", …} -> {"chat", "ref", "after"}
GET    /control/replies   what the bot said        ?chat=&after=&wait=   -> {"replies", "next", "typing"}
POST   /control/faults    what goes wrong next     (channels.rehearsal.faults.Fault);  DELETE takes all away
GET    /control/record    every call so far        ?after=               -> {"calls", "next"}
POST   /control/reset     forget everything said, called and set
POST   /control/hook      where events go, for a channel whose webhook is set in the provider's console {"url"}

An error is `{"error": words}` with a status of 400, or 403 where the caller isn't on this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json

from channels.rehearsal.faults import Fault

if TYPE_CHECKING:
    from channels.rehearsal.server import Rehearsal

LONGEST_WAIT = 60.0
"""Seconds that one request for replies is held open."""

Handler = Callable[[web.Request], Awaitable[Any]]


class Unsayable(ValueError):
    """A control request that makes no sense here."""


class _Position(BaseModel):
    model_config = ConfigDict(extra="forbid")

    after: int = 0
    chat: str | None = None
    wait: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)


class _Hook(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str


class Control:
    """The control API of one rehearsal. Open to loopback alone unless `anywhere`."""

    def __init__(self, rehearsal: Rehearsal, *, anywhere: bool) -> None:
        self._rehearsal = rehearsal
        self._anywhere = anywhere

    def routes(self, router: web.UrlDispatcher) -> None:
        """Add the control API's routes."""
        for method, name, handler in (
            ("POST", "say", self._say),
            ("GET", "replies", self._replies),
            ("POST", "faults", self._set_fault),
            ("DELETE", "faults", self._clear_faults),
            ("GET", "record", self._record),
            ("POST", "reset", self._reset),
            ("POST", "hook", self._set_hook),
        ):
            router.add_route(method, f"/control/{name}", self._guarded(handler))

    def _guarded(self, handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def guarded(request: web.Request) -> web.Response:
            if not (self._anywhere or _is_loopback(request.remote)):
                return _json({"error": "the control API is open to this machine alone"}, 403)
            try:
                return _json(await handler(request))
            except (ValueError, KeyError, TypeError) as error:
                return _json({"error": f"{type(error).__name__}: {error}"}, 400)

        return guarded

    async def _say(self, request: web.Request) -> Any:
        wanted = from_json(await request.read())
        if not isinstance(wanted, dict):
            raise Unsayable("a JSON object is expected")
        after = self._rehearsal.journal.position
        return {**await self._rehearsal.say(wanted), "after": after}

    async def _replies(self, request: web.Request) -> Any:
        wanted = _Position.model_validate(dict(request.query))
        journal = self._rehearsal.journal
        found = await journal.heard(wanted.chat, wanted.after, min(LONGEST_WAIT, wanted.wait))
        return {
            "replies": found,
            "next": found[-1].n if found else wanted.after,
            "typing": journal.is_typing(wanted.chat),
        }

    async def _set_fault(self, request: web.Request) -> Any:
        try:
            self._rehearsal.faults.add(Fault.model_validate_json(await request.read()))
        except ValidationError as error:
            raise Unsayable(str(error)) from None
        return {"ok": True}

    async def _clear_faults(self, _request: web.Request) -> Any:
        self._rehearsal.faults.clear()
        return {"ok": True}

    async def _record(self, request: web.Request) -> Any:
        wanted = _Position.model_validate(dict(request.query))
        calls = self._rehearsal.journal.calls(wanted.after)
        return {"calls": calls, "next": calls[-1].n if calls else wanted.after}

    async def _reset(self, _request: web.Request) -> Any:
        await self._rehearsal.reset()
        return {"ok": True}

    async def _set_hook(self, request: web.Request) -> Any:
        await self._rehearsal.set_hook(_Hook.model_validate_json(await request.read()).url)
        return {"ok": True}


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=to_json(value, fallback=str), status=status, content_type="application/json")


def _is_loopback(address: str | None) -> bool:
    if address is None:
        return False
    ip = ipaddress.ip_address(address)
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_loopback
