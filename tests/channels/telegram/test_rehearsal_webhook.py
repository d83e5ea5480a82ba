"""What the rehearsed Bot API pushes to a webhook, in what order and how often."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from telegram.error import BadRequest, Conflict

from channels.rehearsal import RehearsalClient
from channels.telegram.rehearsal import TelegramRehearsal, webhook
from tests.channels.telegram.conftest import YES, a_bot, said


@dataclass
class Hook:
    """A bot's webhook that answers as a test says, and keeps what came."""

    url: str = ""
    answers: Any = None
    came: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    enough: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, request: web.Request) -> web.Response:
        update = await request.json()
        self.came.append((request.headers.get("X-Telegram-Bot-Api-Secret-Token", ""), update))
        async with self.enough:
            self.enough.notify_all()
        return self.answers(update) if self.answers else web.Response()

    async def until(self, true: Any) -> None:
        async with asyncio.timeout(10), self.enough:
            await self.enough.wait_for(true)

    @property
    def texts(self) -> list[str]:
        return [update["message"]["text"] for _, update in self.came]


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    app = web.Application()
    app.router.add_post("/hook", hook.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield hook
    await runner.cleanup()


async def test_a_webhook_gets_what_waits_and_what_comes_with_the_secret(server, bot, hook):
    await said(server, "a")
    assert await bot.set_webhook(hook.url, secret_token="s-3_cret", allowed_updates=["message"])
    await hook.until(lambda: len(hook.came) == 1)
    await said(server, "b")
    await hook.until(lambda: len(hook.came) == 2)
    assert hook.texts == ["a", "b"]
    assert {secret for secret, _ in hook.came} == {"s-3_cret"}
    info = await bot.get_webhook_info()
    assert (info.url, info.allowed_updates) == (hook.url, ("message",))


async def test_polling_beside_a_webhook_is_a_conflict(server, bot, hook):
    await bot.set_webhook(hook.url)
    with pytest.raises(Conflict, match="can't use getUpdates method while webhook is active"):
        await bot.get_updates()
    await bot.delete_webhook()
    assert await bot.get_updates() == ()


async def test_a_refused_update_holds_up_its_own_chat_only(server, bot, hook):
    def answer(update: dict[str, Any]) -> web.Response:
        fails = update["message"]["text"] == "a1" and "b1" not in hook.texts
        return web.Response(status=500 if fails else 200)

    hook.answers = answer
    await bot.set_webhook(hook.url)
    await said(server, "a1", user="Ada")
    await hook.until(lambda: len(hook.came) >= 3)
    await said(server, "a2", user="Ada")
    await said(server, "b1", user="Bob")
    await hook.until(lambda: "a2" in hook.texts)
    order = list(dict.fromkeys(reversed(hook.texts)))[::-1]
    assert order == ["b1", "a1", "a2"]
    assert hook.texts.count("a2") == hook.texts.count("b1") == 1
    assert "500" in str((await bot.get_webhook_info()).last_error_message)


async def test_what_a_webhook_did_not_take_waits_for_polling(server, bot, hook):
    hook.answers = lambda _update: web.Response(status=503)
    await bot.set_webhook(hook.url)
    await said(server, "a")
    await hook.until(lambda: len(hook.came) >= 2)
    assert (await bot.get_webhook_info()).pending_update_count == 1
    await bot.delete_webhook()
    assert [u.message.text for u in await bot.get_updates()] == ["a"]


async def test_a_method_in_the_answer_is_carried_out(server, bot, hook):
    hook.answers = lambda update: web.json_response(
        {"method": "sendMessage", "chat_id": update["message"]["chat"]["id"], "text": "at once"}
    )
    await bot.set_webhook(hook.url)
    async with RehearsalClient(server.url) as client:
        assert await client.ask("a") == "at once"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"url": "http://example.org/hook"}, "An HTTPS URL must be provided for webhook"),
        ({"url": "https://example.org", "secret_token": "ä"}, "secret token contains unallowed characters"),
        ({"url": "https://example.org:8080"}, "ports 80, 88, 443 or 8443"),
        ({"url": "https://10.1.2.3"}, "IP address 10.1.2.3 is reserved"),
        ({"url": "https://example.org", "secret_token": "a" * 257}, "secret token is too long"),
    ],
)
async def test_a_webhook_that_cannot_be_is_refused(bot, params, words):
    with pytest.raises(BadRequest, match=f"(?i){words}"):
        await bot.set_webhook(**params)


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """The pauses between tries, which take no time."""
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(webhook, "sleep", pause)
    return waited


async def test_a_refused_update_is_tried_again_at_once_and_then_ever_less_often(hook, pauses):
    hook.answers = lambda _update: web.Response(status=200 if len(hook.came) in (10, 12) else 500)
    async with TelegramRehearsal(retry_scale=0.5) as server, a_bot(server) as bot:
        await bot.set_webhook(hook.url)
        await said(server, "a")
        await said(server, "b")
        await hook.until(lambda: len(hook.came) == 12)
    assert hook.texts == ["a"] * 10 + ["b"] * 2
    assert pauses == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 0.0]


async def test_a_pause_that_the_webhook_asks_for_is_kept(server, bot, hook, pauses):
    answers = [
        web.Response(status=429, headers={"Retry-After": "7"}),
        web.Response(status=307, headers={"Location": hook.url}),
        web.Response(),
    ]
    hook.answers = lambda _update: answers.pop(0)
    server.updates._scale = 1.0
    await bot.set_webhook(hook.url)
    await said(server, "a")
    await hook.until(lambda: not answers)
    assert pauses == [7.0, 2.0]


async def test_a_webhook_that_cannot_be_reached_is_told(server, bot, pauses):
    await bot.set_webhook("http://127.0.0.1:9/hook")
    await said(server, "a")
    async with asyncio.timeout(10):
        while not (info := await bot.get_webhook_info()).last_error_message:
            await asyncio.sleep(0)
    assert "Connection failed" in info.last_error_message
    assert (info.ip_address, info.max_connections) == ("127.0.0.1", 40)


async def test_an_update_that_is_too_old_is_dropped(server, bot, hook, monkeypatch):
    monkeypatch.setattr("channels.telegram.rehearsal.updates.DAY", 0.0)
    hook.answers = lambda update: web.Response(status=500 if update["message"]["text"] == "a" else 200)
    await bot.set_webhook(hook.url)
    await said(server, "a")
    await said(server, "b")
    await hook.until(lambda: hook.texts == ["a", "b"])


async def test_presses_and_messages_do_not_hold_each_other_up(server, bot, hook):
    chat, _ = await said(server, "a")
    await bot.get_updates(offset=-1)
    await bot.get_updates(offset=200_000_000)
    message = await bot.send_message(chat, "sure?", reply_markup=YES)
    hook.answers = lambda update: web.Response(status=500 if "message" in update else 200)
    await bot.set_webhook(hook.url)
    await said(server, "b")
    await server.say({"press": "Yes"})
    await hook.until(lambda: any("callback_query" in update for _, update in hook.came))
    pressed = next(update["callback_query"] for _, update in hook.came if "callback_query" in update)
    assert pressed["message"]["message_id"] == message.message_id


@pytest.mark.parametrize("method", ["getMe", "setWebhook", "deleteWebhook", "close", "logOut"])
async def test_an_answer_cannot_ask_for_everything(server, bot, hook, method):
    hook.answers = lambda _update: web.json_response({"method": method})
    await bot.set_webhook(hook.url)
    await said(server, "a")
    await said(server, "b")
    await hook.until(lambda: len(hook.came) == 2)
    async with RehearsalClient(server.url) as client:
        assert [call["method"] for call in await client.record()] == ["setWebhook"]


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(body=b"{", content_type="application/json"),
        web.Response(body=b"[1]", content_type="application/json"),
        web.Response(body=b"<Response/>", content_type="text/xml"),
        web.Response(body=b"method=getMe", content_type="text/plain"),
    ],
    ids=["broken JSON", "an array", "XML", "text"],
)
async def test_an_answer_that_asks_for_nothing_is_an_answer(server, bot, hook, answer):
    hook.answers = lambda _update: answer
    await bot.set_webhook(hook.url)
    await said(server, "a")
    await hook.until(lambda: hook.texts == ["a"])
    async with RehearsalClient(server.url) as client:
        assert len(await client.record()) == 1


async def test_a_method_may_be_asked_for_by_a_form_and_its_failure_is_told_to_nobody(server, bot, hook):
    form = "method=sendmessage&chat_id={}&text=at+once"
    hook.answers = lambda update: web.Response(
        text=form.format(update["message"]["chat"]["id"] if update["message"]["text"] == "a" else 1),
        content_type="application/x-www-form-urlencoded",
    )
    await bot.set_webhook(hook.url)
    async with RehearsalClient(server.url) as client:
        assert await client.ask("a") == "at once"
        await client.say("b")
        await hook.until(lambda: hook.texts == ["a", "b"])
        await said(server, "c")
        await hook.until(lambda: hook.texts == ["a", "b", "c"])
        assert [(c["method"], c["status"]) for c in await client.record()][1:3] == [
            ("sendMessage", 200), ("sendMessage", 400),
        ]  # fmt: skip


async def test_setting_the_same_webhook_again_changes_only_the_kinds(server, bot, hook):
    async def words(**params: Any) -> str:
        async with RehearsalClient(server.url) as client:
            await bot.set_webhook(hook.url, **params) if params else await bot.delete_webhook()
            return (await client.record())[-1]["answer"]["description"]

    assert await words(secret_token="s") == "Webhook was set"
    assert await words(secret_token="s", allowed_updates=["message"]) == "Webhook is already set"
    assert server.updates.info()["allowed_updates"] == ["message"]
    assert await words(max_connections=500) == "Webhook was set"
    assert server.updates.webhook["max_connections"] == 100
    assert await words() == "Webhook was deleted"
    assert await words() == "Webhook is already deleted"
    assert await bot.set_webhook("")


async def test_what_waits_can_be_dropped(server, bot, hook):
    await said(server, "a")
    await bot.set_webhook(hook.url, drop_pending_updates=True)
    await said(server, "b")
    await hook.until(lambda: hook.texts == ["b"])
    hook.answers = lambda _update: web.Response(status=500)
    await said(server, "c")
    await hook.until(lambda: "c" in hook.texts)
    await bot.delete_webhook(drop_pending_updates=True)
    assert await bot.get_updates() == ()


async def test_reset_forgets_what_waits_behind_an_update_on_its_way(server, bot, hook):
    hook.answers = lambda _update: web.Response(status=500)
    await bot.set_webhook(hook.url)
    for text in ("a", "b"):
        await said(server, text)
    await server.reset()
    assert (await bot.get_webhook_info()).pending_update_count == 1
    hook.answers = None
    await said(server, "c")
    await hook.until(lambda: "c" in hook.texts)
    assert "b" not in hook.texts


async def test_no_more_connections_are_used_than_were_asked_for(server, bot, hook):
    open_now, most, release = 0, 0, asyncio.Event()

    async def take(request: web.Request) -> web.Response:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        response = await type(hook).take(hook, request)
        await release.wait()
        open_now -= 1
        return response

    app = web.Application()
    app.router.add_post("/slow", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await bot.set_webhook(f"http://127.0.0.1:{runner.addresses[0][1]}/slow", max_connections=2)
    for n in range(4):
        await said(server, f"{n}", user=f"user {n}")
    await hook.until(lambda: len(hook.came) == 2)
    release.set()
    await hook.until(lambda: len(hook.came) == 4)
    assert most == 2
    await runner.cleanup()
