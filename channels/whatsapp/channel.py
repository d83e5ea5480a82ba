"""The WhatsApp channel, through Twilio: registered here, its adapter below."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import cast

from pydantic import Field, JsonValue

from channels.adapter import Adapter, Call, Channel, Limits, OpenConnection, Receipt
from channels.errors import SendRefused
from channels.message import InboundMessage, OutboundMessage
from channels.twilio.adapter import SECRETS, TwilioLine, TwilioSettings, closing, complain
from channels.twilio.normalise import normalise, reply_address
from channels.twilio.numbers import PREFIX, bare, canonical
from channels.whatsapp.render import render_text

WINDOW = 24 * 3600.0
"""Seconds after a person's last message in which free text is allowed (error 63016 after it)."""


class WhatsAppSettings(TwilioSettings, frozen=True):
    """Settings of a WhatsApp sender. `template` is used where the 24-hour window is closed."""

    template: str = Field(
        default="", pattern=r"^(HX[0-9a-fA-F]{32})?$", description="a ContentSid to send when 24 hours have passed"
    )


class WhatsAppAdapter(TwilioLine):
    """One WhatsApp sender."""

    limits = Limits(text=1600)

    def __init__(self, connection: OpenConnection, settings: WhatsAppSettings) -> None:
        super().__init__(connection, settings)
        self.template = settings.template
        self._from = PREFIX + bare(settings.from_address) if settings.from_address else ""

    def normalise(self, payload: Mapping[str, JsonValue], received_at: datetime) -> list[InboundMessage]:
        """The message or the status in one webhook. Raises PayloadError."""
        return normalise(
            payload,
            channel="whatsapp",
            connection_id=self._connection.id,
            identity=canonical,
            received_at=received_at,
        )

    def render(self, message: OutboundMessage) -> list[Call]:
        """One call a piece. WhatsApp through Twilio has no typing action, and a button needs no acknowledgement."""
        if message.purpose in {"typing", "ack"}:
            return []
        person = message.conversation.chat_id
        to = PREFIX + bare(reply_address(message.reply_to) or person)
        sender: dict[str, JsonValue] = {"from_": self._from} if self._from else {}
        text = message.text + "".join(f"\n- {button.label}" for button in message.buttons)
        return [
            Call("messages.create", {"to": to, "body": piece.text, **sender}, chat_id=person)
            for piece in render_text(text)
        ]

    async def send(self, call: Call) -> Receipt:
        """Send inside the window; after it, the template, or say why not. Raises SendRetry or SendRefused."""
        last = await self._connection.facts.last_inbound(call.chat_id)
        if last is not None and time.time() - last > WINDOW:
            if not self.template:
                raise SendRefused(
                    "WhatsApp allows free text only within 24 hours of the person's last message.",
                    reason="63016",
                    fix="Give the connection a --template, or retry when they have written again.",
                )
            params = {k: v for k, v in call.params.items() if k != "body"}
            call = Call(call.method, {**params, "content_sid": self.template}, chat_id=call.chat_id)
            return await self._create(call, note="The 24-hour window is closed: the template was sent instead.")
        return await self._create(call)


@asynccontextmanager
async def _open(connection: OpenConnection) -> AsyncIterator[Adapter]:
    adapter = WhatsAppAdapter(connection, cast(WhatsAppSettings, connection.settings))
    async with closing(adapter):
        yield adapter


CHANNEL = Channel(
    name="whatsapp",
    label="WhatsApp (Twilio)",
    settings=WhatsAppSettings,
    secrets=SECRETS,
    manner="You are writing on WhatsApp: short messages, plain words, little formatting, no tables.",
    open=_open,
    setup="In Twilio's console, set the WhatsApp sender's webhook (POST) to the hook URL.",
    complain=complain,
    by_webhook=lambda _settings, _secrets: True,
)
