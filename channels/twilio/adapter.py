"""What the WhatsApp and SMS adapters share: one webhook, one client, one check."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pydantic import Field, JsonValue

from channels.adapter import (
    Call,
    ConnectionReport,
    ConnectionSettings,
    HookRequest,
    Intake,
    OpenConnection,
    Receipt,
    Secret,
    Verified,
)
from channels.errors import ConnectionBroken, SendRefused
from channels.fetch import Source, fetch, place_of
from channels.message import Attachment
from channels.twilio.check import Line, check
from channels.twilio.client import PUBLIC_API, TwilioClient
from channels.twilio.media import MEDIA, NO_ADDRESS, REFUSALS, attachment, without_file
from channels.twilio.signature import verify

MEDIA_HOST = "api.twilio.com:443"
"""Where a media URL points; it redirects to a public storage host that needs no credentials."""

SECRETS = (
    Secret("account_sid", "account-sid", "account SID"),
    Secret("auth_token", "auth-token", "auth token"),
)


class TwilioSettings(ConnectionSettings, extra="forbid", frozen=True, populate_by_name=True):
    """Settings of a Twilio number. Either `from_address` or `messaging_service` says who sends."""

    from_address: str = Field(default="", alias="from", max_length=100, description="the number or address that sends")
    messaging_service: str = Field(
        default="", pattern=r"^(MG[0-9a-fA-F]{32})?$", description="a Messaging Service SID that picks the sender"
    )
    base_url: str = Field(default=PUBLIC_API, pattern=r"^https?://", description="where Twilio's API is")


def complain(settings: ConnectionSettings, _secrets: frozenset[str]) -> str:
    """What is missing for sending, or an empty string."""
    if isinstance(settings, TwilioSettings) and not (settings.from_address or settings.messaging_service):
        return "Give --from with the number that sends, or --messaging-service."
    return ""


class TwilioLine:
    """The half of an adapter that doesn't depend on WhatsApp or SMS. `template` is None where there are none."""

    template: str | None = None

    def __init__(self, connection: OpenConnection, settings: TwilioSettings) -> None:
        self._connection = connection
        self._settings = settings
        self._auth_token = connection.secrets["auth_token"]
        self._client = TwilioClient(connection.secrets["account_sid"], self._auth_token, settings.base_url)

    async def receive(self, intake: Intake) -> None:
        """Nothing to poll: Twilio calls the webhook. Raises ConnectionBroken where it can't be reached from outside."""
        if not self._connection.hook_url:
            raise ConnectionBroken(
                "Twilio has no address to deliver messages to.",
                fix="Set POSTROOM_PUBLIC_URL, and give Twilio the webhook.",
            )

    def verify(self, request: HookRequest) -> Verified:
        """Prove that Twilio sent this. Raises VerificationError (403) or PayloadError."""
        return verify(request, self._auth_token)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    def fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        """A media item. The credentials go to Twilio's API host only, never along a redirect."""
        place = place_of(self._settings.base_url)
        sid, token = self._connection.secrets["account_sid"], self._auth_token
        basic = base64.b64encode(f"{sid}:{token}".encode()).decode()
        source = Source(
            url=attachment.provider_ref,
            auth={"Authorization": f"Basic {basic}"},
            auth_hosts=frozenset({place, MEDIA_HOST}),
            trusted=frozenset({place}) if self._settings.base_url != PUBLIC_API else frozenset(),
        )
        return fetch(source, max_bytes)

    async def check(self) -> ConnectionReport:
        """Ask Twilio: is the account active, does it deliver here, and does WhatsApp know the template?"""
        line = Line(
            self._settings.from_address, self._settings.messaging_service, self._connection.hook_url, self.template
        )
        return await check(self._client, line)

    async def _create(self, call: Call, note: str = "") -> Receipt:
        """Create the message; without its file where Twilio refuses that alone, so that the text still arrives."""
        if MEDIA in call.params and self._connection.media_url is None:
            return await self._create(without_file(call), f"{NO_ADDRESS}: a line of text was sent instead.")
        try:
            sid = await self._client.create_message(self._completed(call.params))
        except SendRefused as error:
            if MEDIA not in call.params or error.reason not in REFUSALS:
                raise
            return await self._create(without_file(call), f"{error.message} A line of text was sent instead.")
        return Receipt(sid, note, state="queued")

    def _completed(self, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """A call's parameters as the library takes them, with all that is known only now."""
        params = dict(given)
        media = params.pop(MEDIA, None)
        if media is not None and self._connection.media_url is not None:
            params["media_url"] = [self._connection.media_url(attachment(media))]
        if self._settings.messaging_service:
            params["messaging_service_sid"] = self._settings.messaging_service
        if self._connection.hook_url:
            params["status_callback"] = self._connection.hook_url
        return params


@asynccontextmanager
async def closing(line: TwilioLine) -> AsyncIterator[TwilioLine]:
    """An open line, closed with the context."""
    try:
        yield line
    finally:
        await line.close()
