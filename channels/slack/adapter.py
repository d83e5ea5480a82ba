"""One Slack app, in one workspace or several: receive, verify, send, check."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import structlog
from pydantic import JsonValue

from channels.adapter import (
    Call,
    ConnectionReport,
    FileLimits,
    HookRequest,
    Intake,
    Limits,
    OpenConnection,
    Rate,
    Receipt,
    Verified,
)
from channels.errors import (
    ConnectionBroken,
    PayloadError,
    SendRefused,
    SendRetry,
    VerificationError,
)
from channels.fetch import FetchFailed, FetchRefused, Source, fetch, place_of
from channels.message import (
    Attachment,
    Conversation,
    InboundMessage,
    OutboundMessage,
    Sender,
    StatusUpdate,
    message_id,
)
from channels.slack import calls
from channels.slack.check import check
from channels.slack.installations import Installation, Installations
from channels.slack.normalise import is_handshake, read
from channels.slack.places import abroad, localised, split
from channels.slack.reading import Ignored
from channels.slack.render import DEFAULT_LIMIT
from channels.slack.settings import BOT_TOKEN, PUBLIC_API, SlackSettings, transport
from channels.slack.signature import verify

log = structlog.get_logger()

RATES = (Rate("chat", 3, 3.0), Rate("connection", 240, 60.0))
"""A message a second in a channel with a short burst, and "several hundred" a minute in a workspace."""

MARKUP = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "invalid_arguments"}
"""Refusals of blocks, which the same text without them gets around."""

UNTHREADED = {"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message"}
"""Refusals of the thread, of a message that is gone or takes no replies."""

ELSEWHERE = {"not_in_channel", "channel_not_found"}
"""Refusals of a channel that the bot isn't in, although a slash command was used there."""

HOOKS_HOSTS = {"hooks.slack.com:443", "hooks.slack-gov.com:443"}
"""Where Slack's response URLs are."""


class SlackAdapter:
    """One app. Its account in each workspace is learned by auth.test before anything is normalised."""

    def __init__(self, connection: OpenConnection, settings: SlackSettings, backoff: float = 0.5) -> None:
        self._connection = connection
        self._settings = settings
        self._backoff = backoff
        tokens = BOT_TOKEN.each(connection.secrets[BOT_TOKEN.name])
        self._installations = Installations(tokens, settings.base_url, settings.home_team)
        # A proxy or a rehearsal has limits we can't know: there the answers alone set the pace.
        public = settings.base_url == PUBLIC_API
        self.limits = Limits(text=DEFAULT_LIMIT, rates=RATES if public else (), files=FileLimits())

    async def close(self) -> None:
        """Close the clients."""
        await self._installations.close()

    # -- in

    async def receive(self, intake: Intake) -> None:
        """Listen on a socket until cancelled; over HTTP there is nothing to wait for.

        Raises ConnectionBroken where Slack refuses every token; where it refuses some, the others are served.
        """
        await self._installations.learn(self._connection.id, self._backoff)
        if self._installations.refused:
            await intake([self._partly_refused()])
        if transport(self._settings, self._connection.secrets) == "http":
            if not self._connection.hook_url:
                raise ConnectionBroken("Slack has no address to deliver to.", fix="Set POSTROOM_PUBLIC_URL.")
            return
        from channels.slack.socket_mode import listen  # brings bolt, which HTTP does without

        web = self._installations.first.client.web
        await listen(web, self._connection.secrets["app_token"], lambda body: self._take(body, intake))

    def verify(self, request: HookRequest) -> Verified:
        """Check the signature and parse the payload. Raises VerificationError or PayloadError."""
        signing_secret = self._connection.secrets.get("signing_secret")
        if not signing_secret:
            raise VerificationError(
                "This connection has no signing secret: its events come by Socket Mode.",
                fix="Add the connection again with --signing-secret-env, or turn Socket Mode on at Slack.",
            )
        return verify(request, signing_secret)

    def normalise(self, payload: Mapping[str, JsonValue], received_at: datetime) -> list[InboundMessage]:
        """The messages in a payload; why there are none is logged. Raises PayloadError, and AccountUnknown at first."""
        if is_handshake(payload):
            return []
        account = self._installations.addressed(payload)
        found = read(payload, account=account, connection_id=self._connection.id, received_at=received_at)
        if isinstance(found, Ignored):
            event = payload.get("event")
            kind = event.get("type") if isinstance(event, dict) else payload.get("type")
            tell = log.warning if found.reason in ("other_team", "app_rate_limited") else log.info
            tell("payload_ignored", connection=self._connection.id, reason=found.reason, type=kind)
            return []
        away = self._installations.abroad(account)
        return [abroad(message, away) for message in found] if away else found

    def fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        """The bytes of a file, with the bot's token. Raises FetchRefused or FetchFailed."""
        return self._fetch(attachment, max_bytes)

    # -- out

    def render(self, message: OutboundMessage) -> list[Call]:
        """The Web API calls that say this message."""
        return calls.render(message)

    async def send(self, call: Call) -> Receipt:
        """Carry out one call, with the token of its workspace. Raises SendRetry or SendRefused."""
        team_id, params = localised(call.params)
        params.pop("response_url", None)
        its = self._installations.at(team_id)
        try:
            if call.method == calls.UPLOAD:
                return Receipt(await its.client.upload(params))
            answer = await its.client.call(call.method, params)
        except SendRefused as error:
            return await self._send_otherwise(call, self._named(error, its))
        except OSError as error:
            raise SendRefused("The file to send can't be read.", reason=type(error).__name__) from error
        mark = f"{team_id}:" if team_id else ""
        channel, ts = answer.get("channel"), answer.get("ts")
        return Receipt(f"{mark}{channel}:{ts}" if ts else "")

    async def _send_otherwise(self, call: Call, error: SendRefused) -> Receipt:
        """A refusal that another form of the same call gets around: no blocks, no thread, the asker's own address."""
        if error.reason in MARKUP and call.plain is not None:
            note, other = "Slack refused the blocks: sent as plain text.", replace(call, params=call.plain, plain=None)
        elif error.reason in UNTHREADED and "thread_ts" in call.params:
            note = "The thread is gone: sent to the channel."
            other = replace(call, params=_unthreaded(call.params), plain=call.plain and _unthreaded(call.plain))
        elif error.reason in ELSEWHERE and "response_url" in call.params:
            return await self._respond(call, error)
        else:
            raise error
        receipt = await self.send(other)
        return replace(receipt, note=f"{note} {receipt.note}".strip())

    async def _respond(self, call: Call, error: SendRefused) -> Receipt:
        url = str(call.params["response_url"])
        if place_of(url) not in {*HOOKS_HOSTS, place_of(self._settings.base_url)}:
            raise error
        said = {name: value for name, value in call.params.items() if name in ("text", "blocks")}
        if not await self._installations.first.client.respond(
            url, {**said, "response_type": "ephemeral", "replace_original": False}
        ):
            raise error
        return Receipt(note="The bot isn't in the channel: only who used the command sees this.")

    # -- check

    async def check(self) -> ConnectionReport:
        """Ask Slack: are the tokens good, what may the app see, and how do its events come?"""
        secrets = self._connection.secrets
        return await check(
            self._installations,
            transport(self._settings, secrets),
            secrets.get("app_token", ""),
            self._connection.hook_url,
        )

    # -- receiving

    def _partly_refused(self) -> InboundMessage:
        """Tells that a person has to act, and for which workspaces; the connection goes on without them."""
        refused = self._installations.refused
        detail = " ".join(f"{each.title}: {each.refused.message}" for each in refused if each.refused)
        now = datetime.now(UTC)
        key = f"refused:{'.'.join(str(each.number) for each in refused)}"
        return InboundMessage(
            id=message_id(self._connection.id, key, now),
            connection_id=self._connection.id,
            channel="slack",
            kind="status",
            dedupe_keys=(key,),
            conversation=Conversation(self._connection.id, ""),
            scope="group",
            sender=Sender(""),
            status=StatusUpdate("connection", "needs_attention", code="workspace_refused", detail=detail),
            received_at=now,
        )

    def _named(self, error: SendRefused, its: Installation) -> SendRefused:
        """A broken token is one workspace's trouble: of several, say which."""
        if not (error.connection_broken and self._installations.several):
            return error
        message = f"{its.title}: {error.message}"
        return SendRefused(message, reason=error.reason, fix=error.fix, connection_broken=True)

    async def _take(self, payload: dict[str, JsonValue], intake: Intake) -> None:
        """Keep what an envelope brought. One that can't be read never could be: it is acknowledged and logged."""
        try:
            messages = self.normalise(payload, datetime.now(UTC))
        except PayloadError as error:
            log.error("envelope_unreadable", connection=self._connection.id, error=str(error))
            return
        if messages:
            await intake(messages)

    async def _fetch(self, attachment: Attachment, max_bytes: int) -> AsyncIterator[bytes]:
        team_id, file_id = split(attachment.provider_ref)
        try:
            its = self._installations.at(team_id)
            file = await its.client.file(file_id)
        except SendRetry as error:
            raise FetchFailed(f"Slack did not give the file: {error.message}") from error
        except SendRefused as error:
            raise FetchRefused(f"Slack did not give the file: {error.message}") from error
        url = str(file.get("url_private_download") or file.get("url_private") or "")
        if file.get("is_external") is True or not url:
            raise FetchRefused("The file is not kept at Slack.")
        api = place_of(self._settings.base_url)
        source = Source(
            url,
            auth={"Authorization": f"Bearer {its.token}"},
            auth_hosts=frozenset({api, f"files.{api}"}),
            trusted=frozenset({api}) if self._settings.base_url != PUBLIC_API else frozenset(),
            refuse_types=frozenset({"text/html"}),  # a login page, where the token lacks files:read
        )
        async for chunk in fetch(source, max_bytes):
            yield chunk


def _unthreaded(params: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in params.items() if name != "thread_ts"}
