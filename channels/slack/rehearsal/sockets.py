"""Socket Mode: envelopes over a websocket, each to be acknowledged."""

from __future__ import annotations

import asyncio
import json
import secrets
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

from aiohttp import WSMsgType, web

Json = dict[str, Any]

_HEARTBEAT = 10.0
_GOODBYE = 1.0


class Sockets:
    """The websockets of one app. An envelope goes to any one of them, in turn."""

    def __init__(self, app_id: str, patience: float, arrived: Callable[[], None]) -> None:
        self._app_id = app_id
        self._patience = patience
        self._arrived = arrived
        self._tickets: set[str] = set()
        self._live: deque[web.WebSocketResponse] = deque()
        self._leaving: set[web.WebSocketResponse] = set()
        self._acks: dict[str, tuple[web.WebSocketResponse, asyncio.Future[Json | None]]] = {}

    @property
    def connected(self) -> bool:
        """Whether an envelope can be sent."""
        return bool(self._live)

    def ticket(self) -> str:
        """What lets one websocket in, once."""
        ticket = secrets.token_hex(16)
        self._tickets.add(ticket)
        return ticket

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One websocket, from hello to the end."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=403)
        self._tickets.remove(ticket)
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT, timeout=_GOODBYE)
        await socket.prepare(request)
        self._live.append(socket)
        await socket.send_json(
            {
                "type": "hello",
                "num_connections": len(self._live),
                "debug_info": {"host": "applink-rehearsal", "build_number": 1, "approximate_connection_time": 18060},
                "connection_info": {"app_id": self._app_id},
            }
        )
        self._arrived()
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    self._acknowledge(message.data)
        finally:
            self._gone(socket)
        return socket

    async def send(self, kind: str, payload: Json, attempt: int, reason: str) -> tuple[str, Json]:
        """Send and await the acknowledgement: why it failed (or nothing), and the payload that came with it."""
        socket = self._live[0]
        self._live.rotate(-1)
        envelope: Json = {"envelope_id": str(uuid.uuid4()), "payload": payload, "type": kind}
        envelope["accepts_response_payload"] = kind != "events_api"
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": reason}
        ack: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()
        self._acks[envelope["envelope_id"]] = (socket, ack)
        try:
            await socket.send_json(envelope)
            async with asyncio.timeout(self._patience):
                answer = await ack
        except TimeoutError:
            return "timeout", {}
        except ConnectionError:
            return "connection_failed", {}
        finally:
            del self._acks[envelope["envelope_id"]]
        return ("connection_failed", {}) if answer is None else ("", answer)

    async def disconnect(self, reason: str) -> None:
        """Tell every websocket to go. After a warning they are still used; else no more, and soon they are closed."""
        for socket in list(self._live):
            await socket.send_json(
                {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-rehearsal"}}
            )
            if reason != "warning":
                self._live.remove(socket)
                self._leaving.add(socket)

    async def expire(self) -> None:
        """Close those that were told to go and stayed."""
        await asyncio.sleep(self._patience)
        await self.close(only=set(self._leaving))

    async def close(self, only: set[web.WebSocketResponse] | None = None) -> None:
        """Close them all, or some."""
        for socket in only if only is not None else {*self._live, *self._leaving}:
            await socket.close()

    def _acknowledge(self, text: str) -> None:
        try:
            answer = json.loads(text)
            _, ack = self._acks[answer["envelope_id"]]
        except (ValueError, KeyError, TypeError):
            return  # Slack says nothing to an envelope it doesn't know, or to one that was answered too late.
        if not ack.done():
            payload = answer.get("payload")
            ack.set_result(payload if isinstance(payload, dict) else {"text": payload} if payload else {})

    def _gone(self, socket: web.WebSocketResponse) -> None:
        if socket in self._live:
            self._live.remove(socket)
        self._leaving.discard(socket)
        for its, ack in self._acks.values():
            if its is socket and not ack.done():
                ack.set_result(None)
