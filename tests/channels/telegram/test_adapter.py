"""The real adapter, opened as the gateway opens it, hears and checks against the rehearsed Bot API."""

from __future__ import annotations

import asyncio
import json

import pytest

from channels.adapter import HookReply, HookRequest
from channels.errors import (
    ConnectionBroken,
    PayloadError,
    PostroomError,
    VerificationError,
)
from channels.message import Attachment
from channels.rehearsal.faults import Fault
from channels.telegram.adapter import AccountUnknown, TelegramAdapter
from channels.telegram.normalise import ALLOWED_UPDATES
from channels.telegram.receive import CONFLICTS, LONGEST_PAUSE, Receiver
from channels.telegram.rehearsal import TelegramRehearsal
from channels.telegram.settings import PUBLIC_API, TelegramSettings
from tests.channels.telegram.conftest import HOOK, Shelf, a_bot, opened, receiving, said
from tests.channels.telegram.test_normalise import NOW


async def broken(adapter: TelegramAdapter) -> ConnectionBroken:
    with pytest.raises(ConnectionBroken) as error:
        async with asyncio.timeout(10):
            await adapter.receive(Shelf())
    return error.value


# polling


async def test_polling_brings_messages_in_and_confirms_them(server, adapter):
    await said(server, "one")
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await shelf.has(1)
        await said(server, "two", chat="bakery")
        await shelf.has(2)
        await said(server, "three")
        await shelf.has(3)
    assert shelf.texts == ["one", "two", "three"]
    assert {message.connection_id for message in shelf.kept} == {"line"}
    waiting = [update["message"]["text"] for update in server.updates.pending]
    assert "one" not in waiting


async def test_what_was_not_kept_comes_again_before_it_is_confirmed(server, adapter):
    await said(server, "one")
    await said(server, "two")
    shelf = Shelf(PostroomError("The disk is full."), PostroomError("The disk is full."))
    async with receiving(adapter, shelf):
        await shelf.has(2)
    assert shelf.refused == [["one", "two"], ["one", "two"]]
    assert shelf.texts == ["one", "two"]


async def test_a_failure_of_the_intake_that_nobody_expected_confirms_nothing(server, adapter):
    await said(server, "one")
    with pytest.raises(RuntimeError):
        await adapter.receive(Shelf(RuntimeError("a bug")))
    assert len(server.updates.pending) == 1
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await shelf.has(1)


async def test_an_update_that_cannot_be_read_is_passed_over(server, adapter):
    await said(server, "one")
    server.updates.add("message", {"chat": "broken"}, 1)
    await said(server, "two")
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await shelf.has(2)
        await said(server, "three")
        await shelf.has(3)
    assert shelf.texts == ["one", "two", "three"]


async def test_reactions_and_members_are_asked_for(server, adapter):
    shelf = Shelf()
    async with receiving(adapter, shelf):
        done = await server.say({"text": "one"})
        await shelf.has(1)
        await server.say({"react": "👍", "to": done["ref"]})
        await server.say({"member": "administrator", "chat": "bakery"})
        await shelf.has(3)
    assert [message.kind for message in shelf.kept] == ["message", "reaction", "membership"]


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 429, "retry_after": 0.001}, {"drop": "before"}])
async def test_a_passing_failure_is_retried(server, adapter, fault):
    await said(server, "one")
    for method in ("getMe", "deleteWebhook", "getUpdates"):
        server.faults.add(Fault(method=method, times=2, **fault))
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await shelf.has(1)
    assert shelf.texts == ["one"]


async def test_the_pause_that_telegram_asks_for_is_kept(server, adapter, monkeypatch):
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("channels.telegram.receive.asyncio.sleep", sleep)
    server.faults.add(Fault(method="getMe", status=429, retry_after=40))
    server.faults.add(Fault(method="getUpdates", status=429, retry_after=50))
    await said(server)
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await shelf.has(1)
    assert {40, 50} <= set(pauses)


def test_pauses_grow_to_a_limit_however_long_it_takes(adapter):
    receiver = Receiver(adapter._client, "line")
    pauses = [receiver._pause(failures) for failures in (1, 2, 3, 4, 5, 6, 7, 100_000)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE, LONGEST_PAUSE]


async def test_a_webhook_left_behind_is_taken_away(server, adapter):
    async with a_bot(server) as bot:
        await bot.set_webhook("https://example.org/old")
    shelf = Shelf()
    async with receiving(adapter, shelf):
        while server.updates.webhook:
            await asyncio.sleep(0)
        await said(server, "one")
        await shelf.has(1)


async def test_a_few_conflicts_now_and_then_are_restarts_that_overlap(server, adapter):
    shelf = Shelf()
    async with receiving(adapter, shelf):
        for count in (1, 2):
            server.faults.add(
                Fault(method="getUpdates", times=CONFLICTS - 1, status=409, description="Conflict: other")
            )
            await said(server, "one")
            await shelf.has(count)


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("Conflict: terminated by other getUpdates request", "Another process polls"),
        ("Conflict: can't use getUpdates method while webhook is active", "Another process sets a webhook"),
    ],
)
async def test_conflict_after_conflict_breaks_the_connection(server, adapter, description, words):
    server.faults.add(Fault(method="getUpdates", times=CONFLICTS, status=409, description=description))
    error = await broken(adapter)
    assert words in error.message
    assert error.fix


@pytest.mark.parametrize("token", ["1000000001:" + "X" * 35, "malformed"])
async def test_a_bad_token_breaks_the_connection(server, token):
    async with opened(server, token=token) as adapter:
        error = await broken(adapter)
    assert "token" in error.message
    assert "@BotFather" in error.fix
    assert token not in str(error)


async def test_a_token_that_is_revoked_while_polling_breaks_the_connection(server, adapter):
    server.faults.add(Fault(method="getUpdates", status=401, description="Unauthorized"))
    assert "token" in (await broken(adapter)).message


async def test_nothing_is_normalised_before_the_bot_is_known(adapter):
    with pytest.raises(AccountUnknown):
        adapter.normalise({"update_id": 1}, NOW)


# webhook


async def test_a_webhook_is_set_with_a_secret_and_every_kind(server):
    async with opened(server, mode="webhook") as adapter:
        await adapter.receive(Shelf())
        assert server.updates.webhook["url"] == HOOK
        assert server.updates.webhook["secret_token"] == adapter._hook_token
        assert server.updates.info()["allowed_updates"] == list(ALLOWED_UPDATES)
        update = {"update_id": 1, "message": {"message_id": 1, "chat": {"id": 5, "type": "private"}, "text": "a"}}
        assert [m.text for m in adapter.normalise(update, NOW)] == ["a"]


async def test_a_webhook_without_an_address_or_refused_breaks_the_connection(server):
    async with opened(server, mode="webhook", hook_url="") as adapter:
        assert "POSTROOM_PUBLIC_URL" in (await broken(adapter)).fix
    async with opened(server, mode="webhook", hook_url="http://example.org/hook") as adapter:
        error = await broken(adapter)
    assert "refused setWebhook" in error.message
    assert "POSTROOM_PUBLIC_URL" in error.fix


async def test_the_public_api_reaches_four_ports_only(server):
    async with opened(server) as adapter:
        with pytest.raises(ConnectionBroken, match="8080"):
            await adapter._receiver.set_webhook("https://example.org:8080/hook", "secret", public_api=True)


async def test_any_other_api_reaches_any_port(server):
    async with opened(server, mode="webhook", hook_url="http://127.0.0.1:9/hook") as adapter:
        await adapter.receive(Shelf())
        assert server.updates.webhook["url"] == "http://127.0.0.1:9/hook"


def hook(secret: str | None, body: bytes = b"{}", method: str = "POST") -> HookRequest:
    headers = {} if secret is None else {"x-telegram-bot-api-SECRET-token": secret}
    return HookRequest(method, HOOK, headers, {}, body)


async def test_a_request_with_the_secret_is_an_update_answered_with_nothing(adapter):
    verified = adapter.verify(hook(adapter._hook_token, '{"update_id": 1, "ä": "🏟"}'.encode()))
    assert verified.payload == {"update_id": 1, "ä": "🏟"}
    assert verified.reply == HookReply(200, b"")


@pytest.mark.parametrize("secret", [None, "", "wrong", "sécret", "\udcff", "x" * 64])
async def test_a_request_without_the_secret_is_refused(adapter, secret):
    with pytest.raises(VerificationError) as refused:
        adapter.verify(hook(secret))
    assert refused.value.status == 401


async def test_only_a_post_is_taken(adapter):
    with pytest.raises(VerificationError):
        adapter.verify(hook(adapter._hook_token, method="GET"))


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[1]", b'"a"', b"null", b"[" * 100_000])
async def test_a_body_that_is_no_update_is_a_payload_error(adapter, body):
    with pytest.raises(PayloadError):
        adapter.verify(hook(adapter._hook_token, body))


async def test_the_secret_depends_on_the_token_and_does_not_show_it(server, adapter):
    async with opened(server, token="1000000001:" + "Y" * 35) as other:
        assert adapter._hook_token != other._hook_token
    assert server.token not in adapter._hook_token


# check and limits


SEEN = {"join_groups": True, "privacy_mode": True}


async def codes(adapter: TelegramAdapter) -> dict[str, bool]:
    report = await adapter.check()
    assert report.ok == all(finding.ok for finding in report.findings)
    return {finding.code: finding.ok for finding in report.findings}


async def test_a_check_of_polling_finds_the_bot_and_what_it_sees(server, adapter):
    report = await adapter.check()
    assert (report.ok, report.account) == (True, "@rehearsal_bot")
    assert adapter.normalise({"update_id": 1}, NOW) == [], "a check is enough to know who the bot is"
    assert await codes(adapter) == {"token": True, "webhook": True, **SEEN}
    assert "every group message" in report.findings[-1].message
    assert (report.privacy_mode, report.waiting) == (False, 0)
    await said(server)
    assert (await adapter.check()).waiting == 1


async def test_privacy_mode_is_told():
    async with TelegramRehearsal(sees_all=False) as server, opened(server) as adapter:
        report = await adapter.check()
    assert (report.ok, report.privacy_mode) == (True, True)
    assert "/setprivacy at @BotFather" in report.findings[-1].fix


async def test_a_bot_kept_out_of_groups_is_told(server, adapter):
    server.world.me["can_join_groups"] = False
    report = await adapter.check()
    assert report.ok
    assert "/setjoingroups at @BotFather" in report.findings[-2].fix


async def test_a_check_of_what_does_not_answer_blames_no_token(server):
    async with opened(server, base_url="http://127.0.0.1:9/bot") as adapter:
        report = await adapter.check()
    assert (report.ok, [finding.code for finding in report.findings]) == (False, ["unreachable"])


async def test_a_check_with_a_bad_token_says_what_to_do(server):
    async with opened(server, token="1000000001:" + "X" * 35) as adapter:
        report = await adapter.check()
    assert (report.ok, report.findings[0].code) == (False, "token")
    assert report.findings[0].fix


async def test_a_check_of_a_webhook_looks_at_its_address_and_its_last_failure(server):
    async with opened(server, mode="webhook") as adapter:
        assert await codes(adapter) == {"token": True, "webhook": False, **SEEN}
        await adapter.receive(Shelf())
        assert await codes(adapter) == {"token": True, "webhook": True, **SEEN}
        server.updates.last_error = {"last_error_date": 1767322800, "last_error_message": "Wrong response: 500"}
        report = await adapter.check()
        assert report.ok, "nothing waits behind that failure"
        assert "2026-01-02 03:00 UTC: Wrong response: 500" in report.findings[2].message
        await said(server)
        report = await adapter.check()
        assert [finding.code for finding in report.findings if not finding.ok] == ["webhook_error"]
        assert "POSTROOM_PUBLIC_URL" in report.findings[2].fix


async def test_only_the_public_api_has_rates_we_know(server, adapter):
    assert adapter.limits.rates == ()
    for base_url in (PUBLIC_API, f"{PUBLIC_API}{{token}}", f"{PUBLIC_API}{{token}}/test"):
        async with opened(server, base_url=base_url) as public:
            assert {rate.by for rate in public.limits.rates} == {"chat", "group", "connection"}
    assert adapter.limits.text == 4096
    assert adapter.limits.gather_seconds > 0


async def test_a_base_url_may_say_where_the_token_goes(server):
    async with opened(server, base_url=f"{server.url}/bot{{token}}") as adapter:
        assert (await adapter.check()).ok
        server.world.files["a"] = ("a", b"bytes")
        assert [chunk async for chunk in adapter.fetch(Attachment("document", provider_ref="a"), 100)] == [b"bytes"]


def test_settings_are_refused_when_they_cannot_be():
    for wrong in ({"mode": "socket"}, {"base_url": "ftp://x/bot"}, {"base_url": "https://x"}, {"unknown": 1}):
        with pytest.raises(ValueError, match="TelegramSettings"):
            TelegramSettings.model_validate(wrong)
    assert json.loads(TelegramSettings().model_dump_json())["mode"] == "polling"
