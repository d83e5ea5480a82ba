"""WhatsApp and SMS: the real twilio library against a rehearsed Twilio."""

from __future__ import annotations

import base64
import contextlib
import json
import time

import pytest

from channels.adapter import Call, OpenConnection
from channels.errors import SendRefused, SendRetry
from channels.fetch import FetchFailed
from channels.message import Attachment, Button, Conversation, OutboundMessage
from channels.registry import load
from channels.rehearsal import RehearsalClient
from channels.twilio.adapter import complain
from channels.twilio.rehearsal import TwilioRehearsal
from channels.twilio.rehearsal.server import ACCOUNT, NUMBER, SERVICE, TEMPLATE, TOKEN

PERSON = "+14155550100"


class Known:
    """Facts as a test wants them."""

    def __init__(self, *, hours: float | None = 1.0, out: bool = False) -> None:
        self.hours = hours
        self.out = out

    async def last_inbound(self, person: str) -> float | None:
        return None if self.hours is None else time.time() - self.hours * 3600

    async def opted_out(self, person: str) -> bool:
        return self.out


@contextlib.asynccontextmanager
async def opened(server, *, facts=None, hook_url="https://bots.example.com/hooks/line/x", secrets=None, **settings):
    channel = load(server.line)
    given = {"from": server.sender, "base_url": server.url, **settings}
    connection = OpenConnection(
        id="line",
        settings=channel.settings.model_validate(given),
        secrets=secrets or {"account_sid": ACCOUNT, "auth_token": TOKEN},
        hook_url=hook_url,
        facts=facts or Known(),
    )
    async with channel.open(connection) as adapter:
        yield adapter


@pytest.fixture(params=["sms", "whatsapp"])
async def server(request):
    async with TwilioRehearsal(request.param) as running:
        yield running


@pytest.fixture
async def sms():
    async with TwilioRehearsal("sms") as running:
        yield running


@pytest.fixture
async def whatsapp():
    async with TwilioRehearsal("whatsapp") as running:
        yield running


def reply(text: str, reply_to: str | None = None, **more) -> OutboundMessage:
    return OutboundMessage(Conversation("line", PERSON), text=text, reply_to=reply_to, **more)


async def test_a_reply_goes_to_the_person_and_waits_for_its_status(server):
    async with opened(server) as adapter, RehearsalClient(server.url) as phone:
        (call,) = adapter.render(reply("We open at **nine**."))
        receipt = await adapter.send(call)
        assert receipt.state == "queued"
        assert receipt.provider_ref.startswith("SM")
        (heard,) = await phone.replies(chat=PERSON, wait=5)
        assert heard.text == ("We open at nine." if server.line == "sms" else "We open at *nine*.")
        (sent,) = [c for c in await phone.record() if c["method"] == "messages"]
        assert sent["params"]["StatusCallback"] == "https://bots.example.com/hooks/line/x"


async def test_a_reply_goes_where_the_person_wrote_from(whatsapp):
    async with opened(whatsapp) as adapter:
        message = OutboundMessage(
            Conversation("line", "+551187654321"), text="oi", reply_to="SM1 whatsapp:+5511987654321"
        )
        (call,) = adapter.render(message)
        assert call.params["to"] == "whatsapp:+5511987654321"
        assert call.chat_id == "+551187654321"


async def test_typing_and_ack_say_nothing_and_buttons_are_lines(server):
    async with opened(server) as adapter:
        assert adapter.render(reply("", purpose="typing")) == []
        assert adapter.render(reply("", purpose="ack")) == []
        (call,) = adapter.render(reply("Stopped.", buttons=(Button("continue", "Continue"),)))
        assert "Continue" in call.params["body"]


async def test_a_messaging_service_sends_without_a_number(server):
    async with opened(server, messaging_service=SERVICE, **{"from": ""}) as adapter:
        (call,) = adapter.render(reply("hello"))
        await adapter.send(call)
    (sent,) = [c for c in server.record if c.method == "messages"]
    assert sent.params["MessagingServiceSid"] == SERVICE
    assert "From" not in sent.params


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"to": "12", "body": "x"}, "21211"),
        ({"to": PERSON, "body": "x" * 1601}, "21617"),
        ({"to": PERSON, "body": "x", "from_": "+15550009999"}, "21606"),
        ({"to": PERSON, "body": "x", "from_": ""}, "21603"),
        ({"to": PERSON, "body": "x", "messaging_service_sid": f"MG{'f' * 32}"}, "21701"),
    ],
)
async def test_what_twilio_refuses_for_good_is_refused_with_its_code(sms, params, reason):
    async with opened(sms) as adapter:
        with pytest.raises(SendRefused) as refused:
            await adapter.send(Call("messages.create", {"from_": NUMBER, **params}, chat_id=PERSON))
    assert refused.value.reason == reason


async def test_too_many_requests_were_never_processed(server):
    async with opened(server) as adapter, RehearsalClient(server.url) as phone:
        await phone.fault(method="messages", status=429)
        with pytest.raises(SendRetry) as retry:
            await adapter.send(adapter.render(reply("x"))[0])
        assert retry.value.sent is False
        await phone.fault(method="messages", status=503)
        with pytest.raises(SendRetry) as unknown:
            await adapter.send(adapter.render(reply("x"))[0])
        assert unknown.value.sent is None
        await phone.fault(method="messages", drop="after")
        with pytest.raises(SendRetry) as dropped:
            await adapter.send(adapter.render(reply("x"))[0])
        assert dropped.value.sent is None


async def test_nobody_listening_is_a_passing_failure_that_sent_nothing(sms):
    async with opened(sms, base_url="http://127.0.0.1:9") as adapter:
        with pytest.raises(SendRetry) as retry:
            await adapter.send(adapter.render(reply("x"))[0])
    assert retry.value.sent is False


async def test_wrong_credentials_break_the_connection(server):
    async with opened(server, secrets={"account_sid": ACCOUNT, "auth_token": "wrong"}) as adapter:
        with pytest.raises(SendRefused) as refused:
            await adapter.send(adapter.render(reply("x"))[0])
        assert refused.value.connection_broken
        report = await adapter.check()
    assert not report.ok
    assert "wrong" in next(f for f in report.findings if f.code == "token").message


async def test_whatsapp_free_text_after_a_day_is_refused_before_the_call(whatsapp):
    async with opened(whatsapp, facts=Known(hours=25)) as adapter:
        with pytest.raises(SendRefused) as refused:
            await adapter.send(adapter.render(reply("x"))[0])
    assert refused.value.reason == "63016"
    assert not whatsapp.record


async def test_whatsapp_sends_its_template_after_a_day_where_it_has_one(whatsapp):
    async with opened(whatsapp, facts=Known(hours=25), template=TEMPLATE) as adapter:
        receipt = await adapter.send(adapter.render(reply("x"))[0])
    assert receipt.note == (
        "The 24-hour window is closed: the template was sent instead. It has no place for the reply."
    )
    (sent,) = [c for c in whatsapp.record if c.method == "messages"]
    assert sent.params["ContentSid"] == TEMPLATE
    assert "Body" not in sent.params
    assert "ContentVariables" not in sent.params


async def test_the_template_carries_the_reply_in_its_variables(whatsapp):
    variables = '{"1": "{reply}"}'
    async with (
        opened(whatsapp, facts=Known(hours=25), template=TEMPLATE, template_variables=variables) as adapter,
        RehearsalClient(whatsapp.url) as phone,
    ):
        receipt = await adapter.send(adapter.render(reply("We're **open**:\n\n- Mo\n- Tu"))[0])
        (heard,) = await phone.replies(chat=PERSON, wait=5)
    assert heard.text == "About your question: We’re *open*: - Mo - Tu"
    assert receipt.note == "The 24-hour window is closed: the template was sent instead."


async def test_a_long_reply_is_shortened_for_the_template_and_the_note_says_so(whatsapp):
    variables = {"1": "{reply}"}
    async with (
        opened(whatsapp, facts=Known(hours=25), template=TEMPLATE, template_variables=variables) as adapter,
        RehearsalClient(whatsapp.url) as phone,
    ):
        receipt = await adapter.send(adapter.render(reply("word " * 300))[0])
        (heard,) = await phone.replies(chat=PERSON, wait=5)
    assert heard.text.endswith(" wo…")
    assert receipt.note.endswith("The reply was shortened to fit.")


async def test_a_template_of_another_account_is_refused_with_what_to_do(whatsapp):
    async with opened(whatsapp, facts=Known(hours=25), template="HX" + "f" * 32) as adapter:
        with pytest.raises(SendRefused, match="--template") as refused:
            await adapter.send(adapter.render(reply("x"))[0])
    assert refused.value.reason == "21655"


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"content_variables": '{"1": "x"}', "body": "x"}, "21654"),
        ({"content_sid": TEMPLATE, "body": "x"}, "20001"),
        *(
            ({"content_sid": TEMPLATE, "content_variables": bad}, "21656")
            for bad in (
                "x",
                "[]",
                '{"1": ""}',
                '{"1": null}',
                '{"a b": "x"}',
                '{"12345678901234567": "x"}',
                '{"1": "a\\nb"}',
                '{"1": "a\\tb"}',
                '{"1": "a     b"}',
                json.dumps({"1": "x" * 1601}),
                json.dumps({str(n): "x" for n in range(101)}),
            )
        ),
    ],
)
async def test_twilio_refuses_what_is_wrong_with_a_template(whatsapp, params, reason):
    async with opened(whatsapp) as adapter:
        call = Call("messages.create", {"to": f"whatsapp:{PERSON}", "from_": whatsapp.sender, **params})
        with pytest.raises(SendRefused) as refused:
            await adapter.send(call)
    assert refused.value.reason == reason


async def test_sms_to_someone_who_opted_out_is_refused_before_the_call(sms):
    async with opened(sms, facts=Known(out=True)) as adapter:
        with pytest.raises(SendRefused) as refused:
            await adapter.send(adapter.render(reply("x"))[0])
    assert refused.value.reason == "21610"
    assert not sms.record


async def test_sms_counts_its_segments_and_keeps_to_its_cap(sms):
    async with opened(sms, max_segments=2, transliterate=True) as adapter:
        calls = adapter.render(reply("“Quoted” words — and more. " * 40))
        assert len(calls) > 1
        notes = [(await adapter.send(call)).note for call in calls]
    assert all(note in {"1 segment(s), GSM-7", "2 segment(s), GSM-7"} for note in notes), notes


async def test_media_needs_the_account_and_its_redirect_gets_no_credentials(server):
    async with opened(server) as adapter, RehearsalClient(server.url) as phone:
        picture = base64.b64encode(b"\x89PNG picture").decode()
        with contextlib.suppress(ValueError):  # nobody takes the webhook; the media is there all the same
            await phone.say("look", user="dana", files=[{"base64": picture, "media_type": "image/png"}])
        media = next(iter(server._media))
        url = f"{server.url}/2010-04-01/Accounts/{ACCOUNT}/Messages/MM1/Media/{media}"
        content = b"".join([chunk async for chunk in adapter.fetch(Attachment("image", url), 1000)])
        assert content == b"\x89PNG picture"
    async with opened(server, secrets={"account_sid": ACCOUNT, "auth_token": "wrong"}) as adapter:
        with pytest.raises(FetchFailed):
            _ = [chunk async for chunk in adapter.fetch(Attachment("image", url), 1000)]


@pytest.mark.parametrize("channel", ["sms", "whatsapp"])
def test_a_line_without_a_sender_is_complained_about(channel):
    settings = load(channel).settings
    assert "--from" in complain(settings.model_validate({}), frozenset())
    assert complain(settings.model_validate({"from": "+1"}), frozenset()) == ""
    assert complain(settings.model_validate({"messaging_service": SERVICE}), frozenset()) == ""
