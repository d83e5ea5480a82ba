"""What a check of a line finds: the real twilio library asks a rehearsed Twilio how the account is set up."""

from __future__ import annotations

import pytest

from channels.errors import ConnectionBroken
from channels.twilio.rehearsal import TwilioRehearsal
from channels.twilio.rehearsal.server import NUMBER, SERVICE
from tests.channels.twilio.test_lines import opened

HOOK = "https://bots.example.com/hooks/line/x"
TEMPLATE = "HX" + "a" * 32


@pytest.fixture(params=["sms", "whatsapp"])
async def server(request):
    async with TwilioRehearsal(request.param, hook_url=HOOK) as running:
        yield running


@pytest.fixture
async def sms():
    async with TwilioRehearsal("sms", hook_url=HOOK) as running:
        yield running


@pytest.fixture
async def whatsapp():
    async with TwilioRehearsal("whatsapp", hook_url=HOOK) as running:
        yield running


async def found(server, **how):
    """The findings by code; every one that fails says what to do."""
    async with opened(server, **how) as adapter:
        report = await adapter.check()
    assert report.ok == all(f.ok for f in report.findings)
    assert all(f.fix for f in report.findings if not f.ok)
    return {f.code: f for f in report.findings}


async def test_a_line_that_is_set_up_is_found_so(server):
    findings = await found(server)
    assert all(f.ok for f in findings.values())
    assert "'Rehearsal' is active" in findings["token"].message
    assert "delivers to this connection's address" in findings["webhook"].message
    assert set(findings) == ({"token", "webhook"} | ({"sender", "template"} if server.line == "whatsapp" else set()))


async def test_without_an_address_nothing_is_delivered(server):
    assert [code for code, f in (await found(server, hook_url="")).items() if not f.ok] == ["webhook"]
    async with opened(server, hook_url="") as adapter:
        with pytest.raises(ConnectionBroken, match="POSTROOM_PUBLIC_URL"):
            await adapter.receive(None)


async def test_credentials_that_are_wrong_are_told_from_silence(server):
    wrong = {"account_sid": "AC" + "0" * 31 + "1", "auth_token": "wrong"}
    findings = await found(server, secrets=wrong)
    assert (set(findings), findings["token"].ok) == ({"token"}, False)
    assert set(await found(server, base_url="http://127.0.0.1:9")) == {"unreachable"}


@pytest.mark.parametrize(
    ("hook_url", "words"),
    [
        ("", "no webhook"),
        ("https://demo.twilio.com/welcome/sms/reply", "elsewhere, to https://demo.twilio.com/…"),
    ],
)
async def test_a_webhook_that_leads_elsewhere_is_found(server, hook_url, words):
    server.hook_url = hook_url
    webhook = (await found(server))["webhook"]
    assert (webhook.ok, words in webhook.message) == (False, True)
    assert "connection show" in webhook.fix
    assert "/welcome" not in webhook.message, "the path of an address may be secret"


async def test_a_fragment_is_no_part_of_the_address_and_get_is_not_taken(server):
    server.hook_url = f"{HOOK}#rc=3&rp=all"
    assert (await found(server))["webhook"].ok
    server.desk.by = "GET"
    webhook = (await found(server))["webhook"]
    assert (webhook.ok, "by GET" in webhook.message) == (False, True)


async def test_an_application_takes_the_numbers_place(sms):
    sms.desk.application, sms.desk.application_url = "AP" + "0" * 32, HOOK
    sms.hook_url = "https://elsewhere.example.com/"
    assert (await found(sms))["webhook"].ok
    sms.desk.application_url = ""
    assert "application has no webhook" in (await found(sms))["webhook"].message


async def test_a_number_that_is_not_the_accounts_is_found(sms):
    assert (await found(sms, **{"from": "+15550009999"}))["sender"].ok is False
    short = (await found(sms, **{"from": "12345"}))["webhook"]
    assert (short.ok, bool(short.fix)) == (True, True), "Twilio does not tell"
    assert (await found(sms, **{"from": NUMBER[:-1]}))["sender"].ok is False, "a part of a number is not the number"


async def test_a_messaging_service_has_the_first_word(server):
    assert "Messaging Service delivers" in (await found(server, messaging_service=SERVICE))["webhook"].message
    missing = (await found(server, messaging_service="MG" + "f" * 32))["webhook"]
    assert (missing.ok, "--messaging-service" in missing.fix) == (False, True)
    server.hook_url = ""
    assert (await found(server, messaging_service=SERVICE))["webhook"].ok is False
    server.desk.deferred, server.hook_url = True, HOOK
    webhook = (await found(server, messaging_service=SERVICE))["webhook"]
    assert (webhook.ok, "Messaging" in webhook.message) == (True, False), "it leaves that to the number"
    alone = (await found(server, messaging_service=SERVICE, **{"from": ""}))["webhook"]
    assert (alone.ok, "each of its numbers" in alone.message) == (True, True)


async def test_a_whatsapp_sender_must_be_online_and_the_sandbox_is_never_listed(whatsapp):
    whatsapp.desk.sender_state = "ONLINE:UPDATING"
    assert (await found(whatsapp))["sender"].ok
    whatsapp.desk.sender_state = "PENDING_VERIFICATION"
    sender = (await found(whatsapp))["sender"]
    assert (sender.ok, sender.message) == (False, "The sender is pending verification.")
    whatsapp.desk.sandbox = True
    findings = await found(whatsapp)
    assert "sender" not in findings
    assert (findings["webhook"].ok, "sandbox" in findings["webhook"].message) == (True, True)


async def test_without_a_template_the_day_after_is_closed(whatsapp):
    template = (await found(whatsapp))["template"]
    assert (template.ok, "--template" in template.fix) == (True, True)


@pytest.mark.parametrize(
    ("stands", "ok", "words"),
    [
        (("approved", ""), True, "approved"),
        (("pending", ""), False, "it is pending"),
        (("rejected", "INVALID_FORMAT"), False, "rejected (INVALID_FORMAT)"),
        (None, False, "no template HX"),
    ],
)
async def test_the_template_is_as_whatsapp_sees_it(whatsapp, stands, ok, words):
    if stands:
        whatsapp.desk.templates[TEMPLATE] = stands
    template = (await found(whatsapp, template=TEMPLATE))["template"]
    assert (template.ok, words in template.message) == (ok, True)
