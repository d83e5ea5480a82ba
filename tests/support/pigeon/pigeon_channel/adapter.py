"""One loft: notes come by its webhook, signed with the loft key, and go out by its API."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from datetime import datetime

import aiohttp
from pydantic import JsonValue

from channels.adapter import (
    Call,
    ConnectionReport,
    FileLimits,
    Finding,
    HookRequest,
    Intake,
    Limits,
    OpenConnection,
    Receipt,
    Verified,
)
from channels.errors import ConnectionBroken, PayloadError, SendError, SendRefused, SendRetry, VerificationError
from channels.fetch import FetchRefused
from channels.markdown.layout import Layout
from channels.markdown.measure import blank
from channels.markdown.parse import parse
from channels.markdown.plain import PLAIN
from channels.markdown.split import split
from channels.message import Attachment, InboundMessage, OutboundMessage
from pigeon_channel.normalise import normalise

NOTE_MAX = 300
"""Characters that a pigeon carries."""


def sign(key: str, body: bytes) -> str:
    """The loft's signature of a webhook's body."""
    return hmac.new(key.encode(), body, hashlib.sha256).hexdigest()


class PigeonAdapter:
    """Receives, renders and sends notes."""

    limits = Limits(text=NOTE_MAX, files=FileLimits(unavailable="pigeons carry no files"))

    def __init__(self, connection: OpenConnection, base_url: str) -> None:
        self._connection = connection
        self._key = connection.secrets["loft_key"]
        self._base_url = base_url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def receive(self, intake: Intake) -> None:
        """Nothing to poll. Raises ConnectionBroken where the loft can't reach us."""
        if not self._connection.hook_url:
            raise ConnectionBroken("The loft has nowhere to send notes.", fix="Set POSTROOM_PUBLIC_URL.")

    def verify(self, request: HookRequest) -> Verified:
        """Check the signature. Raises VerificationError or PayloadError."""
        if not hmac.compare_digest(sign(self._key, request.body).encode(), request.header("X-Loft-Signature").encode()):
            raise VerificationError("The loft did not sign this.")
        try:
            payload = json.loads(request.body)
        except ValueError as error:
            raise PayloadError("That is not JSON.") from error
        return Verified(payload if isinstance(payload, dict) else {})

    def normalise(self, payload: Mapping[str, JsonValue], received_at: datetime) -> list[InboundMessage]:
        """The note in a webhook. Raises PayloadError."""
        return normalise(payload, self._connection.id, received_at)

    def render(self, message: OutboundMessage) -> list[Call]:
        """Plain notes, short enough to carry."""
        if message.purpose in {"typing", "ack"}:
            return []
        to = message.conversation.chat_id
        pieces = split(parse(message.text), Layout(PLAIN).text, lambda piece: len(piece) <= NOTE_MAX, NOTE_MAX)
        return [Call("notes", {"to": to, "text": piece}, chat_id=to) for piece in pieces if not blank(piece)]

    async def send(self, call: Call) -> Receipt:
        """Let a pigeon fly. Raises SendRetry or SendRefused."""
        return Receipt(str((await self._ask("POST", "notes", call.params))["note_id"]))

    def fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        """There are no files."""
        raise FetchRefused("Pigeons carry no files.")

    async def check(self) -> ConnectionReport:
        """Ask the loft for its name."""
        try:
            loft = await self._ask("GET", "loft")
        except SendError as error:
            return ConnectionReport(ok=False, findings=(Finding(error.code, ok=False, message=error.message),))
        return ConnectionReport(ok=True, account=str(loft["name"]))

    async def close(self) -> None:
        """Close the connection pool."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, method: str, what: str, body: Mapping[str, JsonValue] | None = None) -> dict[str, JsonValue]:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=20)
            self._session = aiohttp.ClientSession(headers={"Authorization": f"Bearer {self._key}"}, timeout=timeout)
        try:
            async with self._session.request(method, f"{self._base_url}/{what}", json=body) as response:
                if response.status == 429:
                    raise SendRetry("The pigeons are tired.", after=float(response.headers["Retry-After"]), sent=False)
                if response.status >= 500:
                    raise SendRetry(f"The loft answered {response.status}.", sent=None)
                answer: dict[str, JsonValue] = await response.json()
                if response.status >= 400:
                    reason = str(answer["error"])
                    raise SendRefused(
                        f"The loft refused: {reason}.", reason=reason, connection_broken=response.status == 401
                    )
                return answer
        except aiohttp.ClientConnectorError as error:
            raise SendRetry("The loft can't be reached.", sent=False) from error
        except (TimeoutError, aiohttp.ClientError) as error:
            raise SendRetry("The loft did not answer.", sent=None) from error
