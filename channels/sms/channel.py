"""The SMS channel, through Twilio: registered here, its adapter below."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import cast

from pydantic import Field, JsonValue

from channels.adapter import Adapter, Call, Channel, Limits, OpenConnection, Receipt
from channels.errors import SendRefused
from channels.message import InboundMessage, OutboundMessage
from channels.sms.render import render_text, segments
from channels.twilio.adapter import SECRETS, TwilioLine, TwilioSettings, closing, complain
from channels.twilio.media import MEDIA, MMS, limits, messages
from channels.twilio.normalise import normalise, reply_address
from channels.twilio.numbers import bare

CAPTION_MAX = 1500
"""Characters of a text that goes along with a file: there is room left to say that the file could not be sent."""


class SmsSettings(TwilioSettings, frozen=True):
    """Settings of an SMS number. `max_segments` caps one message; longer replies become several."""

    max_segments: int = Field(default=0, ge=0, le=10, description="segments in one message at most; 0 is no cap")
    transliterate: bool = Field(default=False, description="straighten quotes and dashes so that fewer segments do")


class SmsAdapter(TwilioLine):
    """One SMS number or Messaging Service."""

    def __init__(self, connection: OpenConnection, settings: SmsSettings) -> None:
        super().__init__(connection, settings)
        self.limits = Limits(text=1600, files=limits(MMS, reachable=connection.media_url is not None))
        self._sms = settings

    def normalise(self, payload: Mapping[str, JsonValue], received_at: datetime) -> list[InboundMessage]:
        """The message or the status in one webhook. Raises PayloadError."""
        return normalise(
            payload, channel="sms", connection_id=self._connection.id, identity=bare, received_at=received_at
        )

    def render(self, message: OutboundMessage) -> list[Call]:
        """One MMS a file, one SMS a piece, as plain text. There is no typing on SMS."""
        if message.purpose in {"typing", "ack"}:
            return []
        person = message.conversation.chat_id
        to = bare(reply_address(message.reply_to) or person)
        sender: dict[str, JsonValue] = {"from_": self._sms.from_address} if self._sms.from_address else {}
        text = message.text + "".join(f"\n- {button.label}" for button in message.buttons)
        pieces = render_text(text, max_segments=self._sms.max_segments or None, transliterate=self._sms.transliterate)
        texts = [piece.text for piece in pieces]
        return messages(message.attachments, texts, {"to": to, **sender}, person, caption_max=CAPTION_MAX)

    async def send(self, call: Call) -> Receipt:
        """Send, unless the person opted out. The receipt says how many segments a text took; a file is one MMS."""
        if await self._connection.facts.opted_out(call.chat_id):
            raise SendRefused(
                "This person sent STOP and has not come back.", reason="21610", fix="They can send START to come back."
            )
        if MEDIA in call.params:
            return await self._create(call)
        counted = segments(str(call.params["body"]))
        return await self._create(call, note=f"{counted.count} segment(s), {counted.encoding}")


@asynccontextmanager
async def _open(connection: OpenConnection) -> AsyncIterator[Adapter]:
    adapter = SmsAdapter(connection, cast(SmsSettings, connection.settings))
    async with closing(adapter):
        yield adapter


CHANNEL = Channel(
    name="sms",
    label="SMS (Twilio)",
    settings=SmsSettings,
    secrets=SECRETS,
    manner="You are writing SMS: plain text without any formatting, a few short sentences at most.",
    open=_open,
    setup="In Twilio's console, set the number's messaging webhook (POST) to the hook URL.",
    complain=complain,
    by_webhook=lambda _settings, _secrets: True,
)
