"""The WhatsApp channel, through Twilio: registered here, its adapter below."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import cast

from pydantic import Field, JsonValue

from channels.adapter import Adapter, Call, Channel, ConnectionSettings, Limits, OpenConnection, Receipt
from channels.errors import SendRefused
from channels.message import InboundMessage, OutboundMessage
from channels.twilio.adapter import SECRETS, TwilioLine, TwilioSettings, closing, complain
from channels.twilio.media import MEDIA, WHATSAPP, attachment, limits, messages
from channels.twilio.normalise import normalise, reply_address
from channels.twilio.numbers import PREFIX, bare, canonical
from channels.whatsapp.render import render_text
from channels.whatsapp.template import TemplateVariables, carries_reply, filled

WINDOW = 24 * 3600.0
"""Seconds after a person's last message in which free text is allowed (error 63016 after it)."""

CAPTION_MAX = 1024
"""Characters of the text under a picture or a video."""

CAPTIONED = frozenset({"image/jpeg", "image/png", "video/mp4"})
"""What shows a text with it; under anything else WhatsApp leaves it out."""


class WhatsAppSettings(TwilioSettings, frozen=True):
    """Settings of a WhatsApp sender. `template`, filled with its variables, is used where the window is closed."""

    template: str = Field(
        default="", pattern=r"^(HX[0-9a-fA-F]{32})?$", description="a ContentSid to send when 24 hours have passed"
    )
    template_variables: TemplateVariables = Field(
        default_factory=dict, description='its variables as JSON, {reply} for the reply: {"1": "{reply}"}'
    )


class WhatsAppAdapter(TwilioLine):
    """One WhatsApp sender."""

    def __init__(self, connection: OpenConnection, settings: WhatsAppSettings) -> None:
        super().__init__(connection, settings)
        self.template = settings.template
        self.limits = Limits(text=1600, files=limits(WHATSAPP, reachable=connection.media_url is not None))
        self._settings: WhatsAppSettings = settings
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
        """One call a file, one a piece. There is no typing action, and a button needs no acknowledgement."""
        if message.purpose in {"typing", "ack"}:
            return []
        person = message.conversation.chat_id
        to = PREFIX + bare(reply_address(message.reply_to) or person)
        sender: dict[str, JsonValue] = {"from_": self._from} if self._from else {}
        text = message.text + "".join(f"\n- {button.label}" for button in message.buttons)
        return messages(
            message.attachments,
            [piece.text for piece in render_text(text)],
            {"to": to, **sender},
            person,
            caption_max=CAPTION_MAX,
            captioned=CAPTIONED,
        )

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
            return await self._create_template(call)
        return await self._create(call)

    async def _create_template(self, call: Call) -> Receipt:
        """The template in place of a reply; the receipt's note says what of the reply is missing in it."""
        variables, media = self._settings.template_variables, call.params.get(MEDIA)
        said = call.params.get("body") or attachment(media).name
        params: dict[str, JsonValue] = {k: v for k, v in call.params.items() if k not in {"body", MEDIA}}
        notes = ["The 24-hour window is closed: the template was sent instead."]
        if not carries_reply(variables):
            notes.append("It has no place for the reply.")
        if media is not None:
            notes.append("The file was not sent.")
        if variables:
            params["content_variables"], shortened = filled(variables, str(said))
            notes += ["The reply was shortened to fit."] if shortened else []
        params["content_sid"] = self.template
        return await self._create(Call(call.method, params, chat_id=call.chat_id), " ".join(notes))


def _complain(settings: ConnectionSettings, secrets: frozenset[str]) -> str:
    if isinstance(settings, WhatsAppSettings) and settings.template_variables and not settings.template:
        return "Give --template with the ContentSid that --template-variables belong to."
    return complain(settings, secrets)


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
    complain=_complain,
    by_webhook=lambda _settings, _secrets: True,
)
