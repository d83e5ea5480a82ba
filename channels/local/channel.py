"""The `local` channel: the terminal. It has no provider, so what is said is handed to a function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

from pydantic import JsonValue

from channels.adapter import (
    Adapter,
    Call,
    Channel,
    ConnectionReport,
    ConnectionSettings,
    FileLimits,
    HookRequest,
    Intake,
    Limits,
    OpenConnection,
    Receipt,
    Verified,
)
from channels.errors import PayloadError, VerificationError
from channels.fetch import FetchRefused
from channels.message import Attachment, Conversation, InboundMessage, OutboundMessage, Sender, message_id

Hear = Callable[[Call], None]
"""Called with what the agent says: "say" (text, buttons) or "typing"."""


class LocalAdapter:
    """Brings in what a person typed and hands out what the agent answered."""

    limits = Limits(text=1_000_000, files=FileLimits())

    def __init__(self, connection_id: str, hear: Hear) -> None:
        self._connection_id = connection_id
        self._hear = hear

    async def receive(self, intake: Intake) -> None:
        """Nothing to poll: whoever holds the terminal gives messages to the pipeline."""
        await asyncio.Event().wait()

    def verify(self, request: HookRequest) -> Verified:
        """There are no webhooks here."""
        raise VerificationError("The local channel takes no webhooks.", status=404)

    def normalise(self, payload: Mapping[str, JsonValue], received_at: datetime) -> list[InboundMessage]:
        """`{"n": 1, "chat": "me", "user": "me", "text": "…"}` as a message."""
        text, number = payload.get("text"), payload.get("n")
        if not isinstance(text, str) or not isinstance(number, (int, str)):
            raise PayloadError("A local message needs `n` and `text`.")
        chat, user = str(payload.get("chat", "me")), str(payload.get("user", "me"))
        key = f"local:{chat}:{number}"
        return [
            InboundMessage(
                id=message_id(self._connection_id, key, received_at),
                connection_id=self._connection_id,
                channel="local",
                kind="message",
                dedupe_keys=(key,),
                conversation=Conversation(self._connection_id, chat),
                scope="dm",
                sender=Sender(id=user, name=user),
                text=text,
                message_ref=str(number),
                sent_at=received_at,
                received_at=received_at,
                raw=dict(payload),
            )
        ]

    def render(self, message: OutboundMessage) -> list[Call]:
        """Markdown as it is: the terminal shows it. A file is the place where it lies."""
        if message.purpose == "ack":
            return []
        method = "typing" if message.purpose == "typing" else "say"
        buttons: list[JsonValue] = [b.label for b in message.buttons]
        files = [f"[{a.name}: {a.path}]" for a in message.attachments]
        text = "\n".join(part for part in (message.text, *files) if part)
        return [Call(method, {"text": text, "buttons": buttons}, chat_id=message.conversation.chat_id)]

    async def send(self, call: Call) -> Receipt:
        """Hand it to the terminal."""
        self._hear(call)
        return Receipt()

    def fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        """Nobody sends files here."""
        raise FetchRefused("The local channel has no files.")

    async def check(self) -> ConnectionReport:
        """Always well."""
        return ConnectionReport(ok=True, account="this terminal")


def local_channel(hear: Hear) -> Channel:
    """The local channel, speaking to one listener."""

    @asynccontextmanager
    async def open_local(connection: OpenConnection) -> AsyncIterator[Adapter]:
        yield LocalAdapter(connection.id, hear)

    return Channel(
        name="local",
        label="Terminal",
        settings=ConnectionSettings,
        secrets=(),
        manner="You are talking in a terminal. Markdown is shown as it is written, so keep it light.",
        open=open_local,
    )
