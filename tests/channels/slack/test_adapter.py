"""The real adapter, opened as the gateway opens it: over HTTP, its check, its files, and its registration."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from structlog.testing import capture_logs

from channels import registry
from channels.adapter import HookRequest, OpenConnection, Rate
from channels.errors import ConnectionBroken, PayloadError, VerificationError
from channels.fetch import FetchFailed, FetchRefused
from channels.message import Attachment, Button, OutboundMessage
from channels.slack.adapter import SlackAdapter
from channels.slack.channel import CHANNEL
from channels.slack.installations import AccountUnknown
from channels.slack.rehearsal import SlackRehearsal
from channels.slack.settings import PUBLIC_API, SlackSettings, complain, transport
from channels.telegram.settings import TelegramSettings
from tests.channels.slack.support import AUTH, HOOK, Page, Shelf, far_end, opened, receiving
from tests.channels.slack.test_normalise import NOW, load
from tests.channels.slack.test_signature import request

DM_EVENT = {"type": "message", "channel": "D1", "user": "U1", "text": "hi", "ts": "1.2"}
EVENT = {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": DM_EVENT}


@pytest.fixture
async def server():
    async with SlackRehearsal() as server:
        yield server


@pytest.fixture
async def adapter(server):
    async with opened(server.base_url, bot_token=server.bot_token, signing_secret=server.signing_secret) as adapter:
        yield adapter


async def broken(adapter: SlackAdapter) -> ConnectionBroken:
    with pytest.raises(ConnectionBroken) as error:
        async with asyncio.timeout(10):
            await adapter.receive(Shelf())
    return error.value


# HTTP


async def test_over_http_the_account_is_learned_and_events_are_read():
    async with far_end() as far, opened(f"{far.url}/api/") as adapter:
        await adapter.receive(Shelf())
        (message,) = adapter.normalise(EVENT, NOW)
    assert (message.text, message.connection_id) == ("hi", "team")


async def test_before_the_account_is_known_only_a_challenge_is_read(adapter):
    assert adapter.normalise(load("url_verification"), NOW) == []
    with pytest.raises(AccountUnknown):
        adapter.normalise(EVENT, NOW)


async def test_an_address_that_slack_cannot_reach_breaks_the_connection(server):
    async with opened(server.base_url, bot_token=server.bot_token, signing_secret="s" * 32, hook_url="") as adapter:
        assert "POSTROOM_PUBLIC_URL" in (await broken(adapter)).fix


async def test_a_bad_token_breaks_the_connection(server):
    async with opened(server.base_url, bot_token="xoxb-wrong", signing_secret="s" * 32) as adapter:
        error = await broken(adapter)
    assert error.fix
    assert "xoxb-wrong" not in str(error)


async def test_the_pause_that_slack_asks_for_is_kept(monkeypatch):
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with far_end() as far, opened(f"{far.url}/api/") as adapter:
        monkeypatch.setattr("channels.slack.installations.asyncio.sleep", sleep)
        far.answer("auth.test", Page(429, headers={"Retry-After": "40"}), Page(500), {"ok": True}, AUTH)
        await adapter.receive(Shelf())
    assert pauses[:3] == [40.0, 0.002, 0.004]


async def test_a_request_is_checked_with_the_connections_own_secret():
    body = json.dumps(EVENT).encode()
    async with far_end() as far, opened(f"{far.url}/api/", signing_secret="another" * 5) as adapter:
        with pytest.raises(VerificationError):
            adapter.verify(request(body))
    async with far_end() as far, opened(f"{far.url}/api/", app_token="xapp-1") as adapter:
        with pytest.raises(VerificationError) as refused:
            adapter.verify(request(body))
        assert "--signing-secret-env" in refused.value.fix


async def test_the_rehearsed_slack_delivers_over_http_what_it_delivers_by_socket(server, adapter):
    await adapter.receive(Shelf())
    shelf = Shelf()

    async def hook(asked: web.Request) -> web.Response:
        verified = adapter.verify(HookRequest(asked.method, HOOK, asked.headers, dict(asked.query), await asked.read()))
        await shelf(adapter.normalise(verified.payload, NOW))
        return web.Response(status=verified.reply.status, body=verified.reply.body)

    app = web.Application()
    app.router.add_post("/hook", hook)
    async with TestServer(app) as listener:
        server.hook_url = str(listener.make_url("/hook"))
        await server.say({"text": "open?", "mention": True, "chat": "bakery"})
        await shelf.has(2)
        ask = OutboundMessage(shelf.kept[0].conversation, "Shall I?", buttons=(Button("yes", "Yes"),), scope="group")
        (call,) = adapter.render(ask)
        await adapter.send(call)
        await shelf.has(3)
        await server.say({"press": "Yes", "chat": "bakery"})
        await shelf.has(4)
        await server.say({"slash": {"command": "/ask", "text": "when?"}})
        await shelf.has(5)
    message, mention, own, pressed, command = shelf.kept
    assert set(message.dedupe_keys) & set(mention.dedupe_keys)
    assert own.sender.is_self
    assert pressed.conversation == message.conversation
    assert pressed.action is not None
    assert (pressed.action.id, command.text) == ("yes", "/ask when?")
    (taken,) = adapter.render(OutboundMessage(pressed.conversation, purpose="ack", action=pressed.action))
    await adapter.send(taken)
    chat, _, ts = pressed.action.message_ref.rpartition(":")
    assert [block["type"] for block in server.world.chats[chat].messages[ts]["blocks"]] == ["markdown"]


async def test_what_is_ignored_is_logged_with_its_reason():
    async with far_end() as far, opened(f"{far.url}/api/") as adapter:
        await adapter.receive(Shelf())
        with capture_logs() as logs:
            assert adapter.normalise(EVENT | {"team_id": "T2"}, NOW) == []
            assert adapter.normalise({"type": "shortcut", "team": {"id": "T1"}}, NOW) == []
        with pytest.raises(PayloadError):
            adapter.normalise({}, NOW)
    assert [(line["reason"], line["type"], line["log_level"]) for line in logs] == [
        ("other_team", "message", "warning"),
        ("interaction_not_used", "shortcut", "info"),
    ]


async def test_two_workspaces_each_take_their_own():
    async with far_end() as one, far_end() as other:
        other.answer("auth.test", AUTH | {"team_id": "T2"})
        async with opened(f"{one.url}/api/") as first, opened(f"{other.url}/api/") as second:
            await first.receive(Shelf())
            await second.receive(Shelf())
            for payload in (EVENT, EVENT | {"team_id": "T2"}):
                taken = [bool(adapter.normalise(payload, NOW)) for adapter in (first, second)]
                assert taken == [payload["team_id"] == "T1", payload["team_id"] == "T2"]


# the whole way, against the rehearsed Slack


async def test_a_conversation_with_buttons_and_files(server, tmp_path):
    (tmp_path / "menu.txt").write_text("bread")
    shelf = Shelf()
    async with (
        opened(server.base_url, bot_token=server.bot_token, app_token=server.app_token) as adapter,
        receiving(adapter, shelf),
    ):
        content = base64.b64encode(b"a picture").decode()
        file = {"name": "a.png", "media_type": "image/png", "base64": content}
        await server.say({"text": "is this yours?", "mention": True, "chat": "bakery", "files": [file]})
        await shelf.has(1)
        question = shelf.kept[0]
        assert question.text == "is this yours?"
        fetched = [chunk async for chunk in adapter.fetch(question.attachments[0], 100)]
        assert b"".join(fetched) == b"a picture"
        answer = OutboundMessage(
            question.conversation,
            "**No.** <!channel> Ask again?",
            attachments=(Attachment("document", path=str(tmp_path / "menu.txt")),),
            scope=question.scope,
        )
        for call in adapter.render(answer):
            await adapter.send(call)
        thread = question.conversation.thread_id
        posted = [m for chat in server.world.chats.values() for m in chat.messages.values() if "bot_id" in m]
        assert [m["thread_ts"] for m in posted] == [thread, thread]
        assert server.pings == []


async def test_a_command_where_the_bot_is_not_is_answered_to_who_asked(server):
    shelf = Shelf()
    async with (
        opened(server.base_url, bot_token=server.bot_token, app_token=server.app_token) as adapter,
        receiving(adapter, shelf),
    ):
        await server.say({"text": "hello", "chat": "elsewhere"})
        await shelf.has(1)
        channel = server.world.chats[shelf.kept[0].conversation.chat_id]
        channel.joined = False
        await server.say({"slash": {"command": "/ask", "text": "x"}, "chat": "elsewhere"})
        await shelf.has(2)
        command = shelf.kept[1]
        (call,) = adapter.render(
            OutboundMessage(command.conversation, "here", scope=command.scope, reply_to=command.message_ref)
        )
        receipt = await adapter.send(call)
    assert (receipt.provider_ref, bool(receipt.note)) == ("", True)


# files


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"ok": False, "error": "file_not_found"}, FetchRefused),
        ({"ok": False, "error": "missing_scope", "needed": "files:read"}, FetchRefused),
        (Page(500), FetchFailed),
        (
            {"ok": True, "file": {"id": "F1", "is_external": True, "url_private": "https://drive.example.com/x"}},
            FetchRefused,
        ),
        ({"ok": True, "file": {"id": "F1"}}, FetchRefused),
        ({"ok": True}, FetchFailed),
        ({"ok": True, "file": {"id": "F1", "url_private": "http://10.0.0.1/secret"}}, FetchRefused),
    ],
)
async def test_a_file_that_cannot_be_had_is_told_apart(answer, error):
    async with far_end() as far, opened(f"{far.url}/api/") as adapter:
        far.answer("files.info", answer)
        with pytest.raises(error):
            [chunk async for chunk in adapter.fetch(Attachment("document", "F1"), 100)]


async def test_a_login_page_is_not_the_file():
    async with far_end() as far, opened(f"{far.url}/api/") as adapter:
        far.answer("files.info", {"ok": True, "file": {"id": "F1", "url_private": f"{far.url}/files/get"}})
        far.answer("get", Page(200, "<html>Sign in</html>", "text/html"))
        with pytest.raises(FetchRefused, match="text/html"):
            [chunk async for chunk in adapter.fetch(Attachment("document", "F1"), 100)]


# check


async def findings(adapter: SlackAdapter) -> dict[str, bool]:
    report = await adapter.check()
    assert report.ok == all(finding.ok for finding in report.findings)
    assert all(finding.fix for finding in report.findings if not finding.ok)
    return {finding.code: finding.ok for finding in report.findings}


async def test_a_check_finds_the_bot_its_scopes_and_its_way_in(server, adapter):
    report = await adapter.check()
    assert report.account == "@rehearsal_bot in rehearsal"
    assert await findings(adapter) == {"token": True, "scopes": True, "webhook": True}
    assert adapter.normalise(EVENT, NOW) == [], "a check learns who the app is"
    async with opened(server.base_url, bot_token=server.bot_token, app_token=server.app_token) as socket:
        assert await findings(socket) == {"token": True, "scopes": True, "socket": True}


async def test_a_check_with_a_wrong_token_says_which(server):
    async with opened(server.base_url, bot_token="xoxb-wrong", app_token=server.app_token) as adapter:
        assert await findings(adapter) == {"token": False}
    async with opened(server.base_url, bot_token=server.bot_token, app_token="xapp-wrong") as adapter:
        report = await adapter.check()
    assert [(f.code, f.ok) for f in report.findings] == [("token", True), ("scopes", True), ("token", False)]
    assert "app-level" in report.findings[-1].message


async def test_a_check_without_an_address_or_an_answer_leaves_it_open(server):
    async with opened(server.base_url, bot_token=server.bot_token, signing_secret="s" * 32, hook_url="") as adapter:
        assert (await findings(adapter))["webhook"] is False
    async with far_end() as far, opened(f"{far.url}/api/") as adapter:
        far.answer("auth.test", Page(503))
        report = await adapter.check()
        assert [(f.code, f.ok) for f in report.findings] == [("unreachable", False)]


async def scopes_found(scopes: str) -> list[tuple[bool, str]]:
    async with far_end() as far, opened(f"{far.url}/api/") as adapter:
        far.answer("auth.test", Page(200, json.dumps(AUTH), "application/json", {"x-oauth-scopes": scopes}))
        report = await adapter.check()
    return [(f.ok, f.message) for f in report.findings if f.code in ("scopes", "scope_missing")]


async def test_a_check_names_each_scope_that_is_missing_and_what_does_not_work_without_it():
    has, *lacks = await scopes_found("chat:write, app_mentions:read,files:read,unknown")
    assert has == (True, "Scopes: chat:write, app_mentions:read, files:read.")
    assert all(ok for ok, _ in lacks), "an app may do without"
    assert (True, "Without im:history the app doesn't hear direct messages.") in lacks
    named = [message.split()[1] for _, message in lacks]
    assert named == [
        *("im:history", "channels:history", "groups:history", "mpim:history", "commands"),
        *("reactions:read", "channels:read", "groups:read", "files:write"),
    ]


async def test_an_app_that_can_neither_write_nor_hear_is_of_no_use():
    assert (False, "Without chat:write the app can't say anything.") in await scopes_found("im:history")
    deaf = [message for ok, message in await scopes_found("chat:write,files:read") if not ok]
    assert len(deaf) == 6
    assert await scopes_found("") == [(True, "Slack did not tell the token's scopes.")]


async def test_a_users_token_is_not_a_bots():
    async with far_end() as far, opened(f"{far.url}/api/") as adapter:
        far.answer("auth.test", {**AUTH, "bot_id": None})
        assert (await findings(adapter))["token"] is False


# limits and registration


async def test_only_the_public_api_has_rates_we_know(adapter):
    assert adapter.limits.rates == ()
    async with opened(PUBLIC_API) as public:
        assert {rate.by for rate in public.limits.rates} == {"chat", "connection"}
        chat = next(rate for rate in public.limits.rates if rate.by == "chat")
        assert chat.count / chat.seconds == pytest.approx(1.0)
        assert isinstance(chat, Rate)
    assert adapter.limits.text <= 4000


@pytest.mark.parametrize(
    ("mode", "secrets", "way", "complaint"),
    [
        ("auto", {"app_token"}, "socket", ""),
        ("auto", {"signing_secret"}, "http", ""),
        ("auto", {"app_token", "signing_secret"}, "socket", ""),
        ("http", {"app_token", "signing_secret"}, "http", ""),
        ("auto", set(), "http", "--app-token-env"),
        ("http", {"app_token"}, "http", "--signing-secret-env"),
        ("socket", {"signing_secret"}, "socket", "--app-token-env"),
    ],
)
def test_the_way_events_come_follows_the_setting_or_the_secrets(mode, secrets, way, complaint):
    settings = SlackSettings(mode=mode)
    assert transport(settings, secrets) == way
    said = complain(settings, frozenset({"bot_token", *secrets}))
    assert (complaint in said) if complaint else not said


def test_only_settings_of_slack_are_complained_about():
    assert complain(TelegramSettings(), frozenset()) == ""


async def test_a_connection_without_its_secret_does_not_open():
    with pytest.raises(ConnectionBroken, match="--signing-secret-env"):
        async with CHANNEL.open(OpenConnection("team", SlackSettings(), {"bot_token": "xoxb-1"})):
            pass


def test_settings_are_refused_when_they_cannot_be():
    for wrong in ({"mode": "polling"}, {"base_url": "ftp://x"}, {"unknown": 1}):
        with pytest.raises(ValueError, match="SlackSettings"):
            SlackSettings.model_validate(wrong)


def test_the_channel_is_registered():
    assert registry.load("slack") is CHANNEL
    assert [secret.option for secret in CHANNEL.secrets] == ["bot-token", "app-token", "signing-secret"]
