"""A rehearsed loft: takes notes to people, and posts theirs, signed, to the hook."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from channels.rehearsal.server import Rehearsal, Rehearsed, Unsayable, dropped
from pigeon_channel.adapter import NOTE_MAX, sign

KEY = "rehearsed-loft-key"


class Loft(Rehearsal):
    """The loft's API under `url`."""

    def routes(self, router: web.UrlDispatcher) -> None:
        """What the loft documents."""
        router.add_get("/loft", self._name)
        router.add_post("/notes", self._note)

    async def _name(self, request: web.Request) -> web.Response:
        return self._answer("loft", {}, *self._refusal(request) or (200, {"name": "Rehearsal loft"}))

    async def _note(self, request: web.Request) -> web.Response:
        note = await request.json()
        fault = self.faults.take("notes")
        if fault is not None and fault.drop == "before":
            return dropped(request)
        if fault is not None and fault.status is not None:
            headers = {"Retry-After": str(fault.retry_after or 1)}
            return self._answer("notes", note, fault.status, {"error": "bad_weather"}, headers)
        refusal = self._refusal(request)
        if refusal is not None:
            return self._answer("notes", note, *refusal)
        if note.keys() != {"to", "text"} or not note["text"].strip() or len(note["text"]) > NOTE_MAX:
            return self._answer("notes", note, 400, {"error": "not_a_note"})
        ref = secrets.token_hex(8)
        await self.said(note["to"], ref, note["text"], "notes")
        return self._answer("notes", note, 201, {"note_id": ref})

    async def say(self, request: dict[str, Any]) -> dict[str, Any]:
        """A person writes `text`."""
        if not self.hook_url:
            raise Unsayable("the loft keeper has no hook URL")
        person = str(request.get("chat") or request.get("user", "you"))
        note = {"note_id": secrets.token_hex(8), "sender": person, "text": str(request["text"])}
        body = json.dumps(note).encode()
        for _ in range(2 if self.faults.duplicates() else 1):
            async with (
                aiohttp.ClientSession() as session,
                session.post(self.hook_url, data=body, headers={"X-Loft-Signature": sign(KEY, body)}) as response,
            ):
                self.recorded("webhook", note, response.status, await response.text())
        return {"chat": person, "ref": note["note_id"]}

    def _refusal(self, request: web.Request) -> tuple[int, dict[str, str]] | None:
        return None if request.headers.get("Authorization") == f"Bearer {KEY}" else (401, {"error": "wrong_key"})

    def _answer(self, method: str, params: Any, status: int, body: Any, headers: Any = None) -> web.Response:
        self.recorded(method, params, status, body)
        return web.json_response(body, status=status, headers=headers)


@asynccontextmanager
async def rehearse(hook_url: str) -> AsyncIterator[Rehearsed]:
    """A running loft that delivers to `hook_url`, and the connection that speaks to it."""
    async with Loft() as loft:
        loft.hook_url = hook_url
        yield Rehearsed({"base_url": loft.url}, {"loft_key": KEY}, loft.url, by_webhook=True)
