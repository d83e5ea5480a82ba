"""The SMS and WhatsApp adapters against emulate's Twilio: sends, its signed webhooks, and its status callbacks.

emulate has one SID space and no rates, no opt-outs, no WhatsApp window and no templates, refuses an impossible number
with a code that isn't Twilio's (21201 for 21211), and keeps each product under a path of its own, which Twilio does by
hosts: a Messaging Service can't be checked here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import aiohttp
import pytest
from aiohttp import web

from channels.adapter import Adapter, HookRequest, OpenConnection
from channels.errors import SendRefused, VerificationError
from channels.message import Conversation, InboundMessage, OutboundMessage
from channels.registry import load
from tests.channels.emulate.conftest import ACCOUNT, AUTH_TOKEN, NUMBER, SERVICE, WHATSAPP

SENDERS = {"sms": NUMBER, "whatsapp": WHATSAPP}
PERSON = "+14155550123"
BASIC = {"Authorization": aiohttp.encode_basic_auth(ACCOUNT, AUTH_TOKEN)}


class Window:
    """The person wrote just now."""

    async def last_inbound(self, person: str) -> float | None:
        return datetime.now(UTC).timestamp()

    async def opted_out(self, person: str) -> bool:
        return False


class Hook:
    """A webhook that is verified and read by the adapter, as the gateway does it."""

    def __init__(self) -> None:
        self.url = ""
        self.adapter: Adapter | None = None
        self.requests: list[HookRequest] = []
        self.messages: asyncio.Queue[InboundMessage] = asyncio.Queue()

    async def handle(self, request: web.Request) -> web.Response:
        got = HookRequest(request.method, self.url, request.headers, dict(request.query), await request.read())
        self.requests.append(got)
        assert self.adapter is not None
        verified = self.adapter.verify(got)
        for message in self.adapter.normalise(verified.payload, datetime.now(UTC)):
            self.messages.put_nowait(message)
        return web.Response(body=verified.reply.body, content_type=verified.reply.content_type)

    async def next(self) -> InboundMessage:
        return await asyncio.wait_for(self.messages.get(), 10)


@pytest.fixture(params=list(SENDERS))
def channel(request):
    return request.param


@pytest.fixture
async def hook():
    hook = Hook()
    app = web.Application()
    app.router.add_route("*", "/hooks/line/secret", hook.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hooks/line/secret"
    yield hook
    await runner.cleanup()


@asynccontextmanager
async def opened(emulators, channel: str, hook_url: str, **more: str) -> AsyncIterator[Adapter]:
    secrets = {"account_sid": ACCOUNT, "auth_token": more.pop("auth_token", AUTH_TOKEN)}
    settings = load(channel).settings.model_validate({"base_url": emulators.twilio, "from": SENDERS[channel], **more})
    async with load(channel).open(OpenConnection("line", settings, secrets, hook_url, Window())) as adapter:
        yield adapter


@pytest.fixture
async def adapter(emulators, channel, hook):
    async with opened(emulators, channel, hook.url) as adapter:
        hook.adapter = adapter
        yield adapter


@pytest.fixture
async def twilio(emulators):
    """Twilio as whoever runs the account sees it."""
    async with aiohttp.ClientSession(emulators.twilio, headers=BASIC) as session:
        yield session


async def send(adapter: Adapter, text: str, to: str = PERSON) -> str:
    (call,) = adapter.render(OutboundMessage(Conversation("line", to), text))
    receipt = await adapter.send(call)
    assert receipt.state == "queued"
    return receipt.provider_ref


async def kept(twilio: aiohttp.ClientSession, sid: str) -> dict[str, str]:
    async with twilio.get(f"/2010-04-01/Accounts/{ACCOUNT}/Messages/{sid}.json") as response:
        return await response.json()


async def point_at(twilio: aiohttp.ClientSession, number: str, url: str) -> None:
    numbers = f"/2010-04-01/Accounts/{ACCOUNT}/IncomingPhoneNumbers"
    async with twilio.get(f"{numbers}.json", params={"PhoneNumber": number}) as response:
        (found,) = [
            each for each in (await response.json())["incoming_phone_numbers"] if each["phone_number"] == number
        ]
    async with twilio.post(f"{numbers}/{found['sid']}.json", data={"SmsUrl": url}) as response:
        assert response.status == 200


async def test_a_reply_is_sent_from_the_connections_number(adapter, channel, twilio):
    message = await kept(twilio, await send(adapter, "Rye & **spelt** – 2 €."))
    prefix = "whatsapp:" if channel == "whatsapp" else ""
    assert (message["from"], message["to"]) == (SENDERS[channel], f"{prefix}{PERSON}")
    assert message["body"] == ("Rye & *spelt* – 2 €." if channel == "whatsapp" else "Rye & spelt – 2 €.")


async def test_each_report_on_a_delivery_is_signed_and_joined_to_it(adapter, hook, twilio):
    sid = await send(adapter, "On its way.")
    states = []
    for status in ("queued", "sent", "delivered", "read", "undelivered"):
        if status != "queued":  # emulate tells of that one by itself
            form = {"MessageSid": sid, "Status": status}
            async with twilio.post("/_twilio/simulate/message-status", data=form) as response:
                assert response.status == 200
        report = await hook.next()
        assert report.kind == "status"
        assert report.status is not None
        assert report.status.provider_ref == sid
        states.append(report.status.state)
    assert states == ["queued", "sent", "delivered", "read", "failed"]


async def test_what_comes_in_is_verified_and_read_with_its_blank_fields(adapter, channel, hook, twilio):
    await point_at(twilio, SENDERS[channel], hook.url)
    prefix = "whatsapp:" if channel == "whatsapp" else ""
    for text in ("Is there rye? +1 & 2 € ~", ""):
        form = {"To": SENDERS[channel], "From": f"{prefix}{PERSON}", "Body": text}
        async with twilio.post("/_twilio/simulate/inbound-message", data=form) as response:
            sid = (await response.json())["sid"]
        message = await hook.next()
        assert (message.text, message.sender.id, message.kind) == (text, PERSON, "message")
        assert message.dedupe_keys == (f"message:{sid}",)
        assert message.conversation == Conversation("line", PERSON)
    assert b"MessagingServiceSid=" in hook.requests[-1].body


async def test_what_came_in_does_not_verify_with_another_body_or_address(adapter, channel, hook, twilio):
    await point_at(twilio, SENDERS[channel], hook.url)
    form = {"To": SENDERS[channel], "From": f"{'whatsapp:' * (channel == 'whatsapp')}{PERSON}", "Body": "hello"}
    async with twilio.post("/_twilio/simulate/inbound-message", data=form):
        await hook.next()
    (good,) = hook.requests
    for bad in (replace(good, body=good.body.replace(b"hello", b"goodbye")), replace(good, url=f"{hook.url}?x=1")):
        with pytest.raises(VerificationError) as error:
            adapter.verify(bad)
        assert error.value.status == 403


async def test_stop_is_known_for_what_it_is(emulators, hook, twilio):
    async with opened(emulators, "sms", hook.url) as hook.adapter:
        await point_at(twilio, NUMBER, hook.url)
        form = {"To": NUMBER, "From": PERSON, "Body": " stop "}
        async with twilio.post("/_twilio/simulate/inbound-message", data=form):
            message = await hook.next()
        assert message.kind == "membership"


async def test_a_messaging_service_picks_the_sender(emulators, twilio):
    async with opened(emulators, "sms", "", messaging_service=SERVICE, **{"from": ""}) as adapter:
        message = await kept(twilio, await send(adapter, "Hello."))
    assert (message["messaging_service_sid"], message["from"]) == (SERVICE, NUMBER)


async def test_a_number_that_is_not_the_accounts_own_is_refused(emulators, channel, hook):
    other = {"sms": "+15550109999", "whatsapp": "whatsapp:+15550109999"}[channel]
    async with opened(emulators, channel, hook.url, **{"from": other}) as adapter:
        with pytest.raises(SendRefused) as error:
            await send(adapter, "Hello.")
        assert (error.value.reason, error.value.connection_broken) == ("21606", False)


async def test_a_wrong_token_breaks_the_connection(emulators, channel, hook):
    async with opened(emulators, channel, hook.url, auth_token="wrong") as adapter:
        with pytest.raises(SendRefused) as error:
            await send(adapter, "Hello.")
        assert (error.value.reason, error.value.connection_broken) == ("20003", True)
        assert not (await adapter.check()).ok


async def test_the_check_reads_the_account_and_where_its_number_delivers(emulators, hook, twilio):
    async with opened(emulators, "sms", hook.url) as adapter:
        await point_at(twilio, NUMBER, "https://elsewhere.example/")
        elsewhere = await adapter.check()
        await point_at(twilio, NUMBER, hook.url)
        here = await adapter.check()
    assert (elsewhere.ok, here.ok, here.account) == (False, True, "Bakery")
