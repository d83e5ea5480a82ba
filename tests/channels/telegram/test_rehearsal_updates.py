"""What comes from the rehearsed Bot API, by polling and by webhook, and how a test drives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from telegram import Bot, Update
from telegram.error import BadRequest, Conflict, NetworkError, RetryAfter

from channels.rehearsal import RehearsalClient
from channels.telegram.rehearsal import TelegramRehearsal
from tests.channels.telegram.conftest import YES, a_bot, said

ALL = ["message", "edited_message", "channel_post", "callback_query", "message_reaction", "my_chat_member"]


# what people do


async def latest(bot: Bot, server: TelegramRehearsal, **request: Any) -> Update:
    await server.say(request)
    return (await bot.get_updates(allowed_updates=ALL))[-1]


async def test_what_people_do_comes_as_telegram_would_send_it(server, bot):
    await bot.get_updates(allowed_updates=ALL)
    text = await latest(bot, server, text="/start@rehearsal_bot see https://example.org @dana_poe", user="Dana")
    assert [e.type for e in text.message.entities] == ["bot_command", "url", "mention"]
    assert text.effective_user.first_name == "Dana"
    assert text.effective_chat.id == text.effective_user.id > 2**32

    group = await latest(bot, server, text="hi", chat="bakery", anonymous=True)
    assert group.message.from_user.is_bot
    assert group.message.sender_chat.id == group.effective_chat.id < -(2**31)

    topic = await latest(bot, server, text="hi", chat="shop", kind="forum", thread=7)
    assert topic.message.is_topic_message
    assert topic.message.reply_to_message.forum_topic_created is not None

    post = await latest(bot, server, text="news", chat="paper", kind="channel")
    assert (post.channel_post.text, post.effective_user) == ("news", None)

    album = await server.say({"text": "two", "files": [{"kind": "photo"}, {"kind": "photo"}]})
    *_, one, two = (await bot.get_updates())[-2:]
    assert one.message.media_group_id == two.message.media_group_id is not None
    assert (one.message.caption, two.message.caption) == ("two", None)

    edit = await latest(bot, server, text="three", edit=album["ref"])
    assert edit.edited_message.caption == "three"
    reaction = await latest(bot, server, react="👍", to=album["ref"])
    assert reaction.message_reaction.new_reaction[0].emoji == "👍"
    member = await latest(bot, server, member="administrator", chat="bakery")
    assert member.my_chat_member.new_chat_member.status == "administrator"
    place = await latest(bot, server, location={"latitude": 1.5, "longitude": 2.5})
    assert place.message.location.latitude == 1.5
    reply = await latest(bot, server, text="yes", reply_to=album["ref"])
    assert reply.message.reply_to_message.message_id == one.message.message_id


# updates


async def test_updates_come_again_until_an_offset_confirms_them(server, bot):
    for n in range(3):
        await said(server, f"{n}")
    first = await bot.get_updates(limit=2)
    assert [u.message.text for u in first] == ["0", "1"]
    assert await bot.get_updates(limit=2) == first
    assert [u.message.text for u in await bot.get_updates(offset=first[0].update_id + 1)] == ["1", "2"]
    assert [u.message.text for u in await bot.get_updates(offset=-1)] == ["2"]
    assert len(await bot.get_updates()) == 1
    assert await bot.get_updates(offset=first[0].update_id + 3) == ()


async def test_a_long_poll_returns_when_something_comes(server, bot):
    poll = asyncio.create_task(bot.get_updates(timeout=20))
    await polling(server)
    await said(server)
    assert len(await poll) == 1


async def test_a_second_poller_ends_the_first_with_a_conflict(server, bot):
    async with a_bot(server) as other:
        first = asyncio.create_task(bot.get_updates(timeout=20))
        await polling(server)
        second = asyncio.create_task(other.get_updates(timeout=20))
        with pytest.raises(Conflict, match="terminated by other getUpdates request"):
            await first
        await said(server)
        assert len(await second) == 1


async def test_kinds_that_are_not_asked_for_do_not_come_and_the_choice_sticks(server, bot):
    done = await server.say({"text": "a"})
    await server.say({"react": "👍", "to": done["ref"]})
    assert len(await bot.get_updates(allowed_updates=["message_reaction"])) == 1
    await server.say({"react": "👍", "to": done["ref"]})
    await said(server, "b")
    assert [u.message_reaction is None for u in await bot.get_updates()] == [True, False]
    await bot.get_updates(allowed_updates=[])
    await said(server, "c")
    assert (await bot.get_updates())[-1].message.text == "c"


async def test_a_duplicated_event_comes_twice_with_one_id(server, bot):
    async with RehearsalClient(server.url) as client:
        await client.fault(method="event", duplicate=True)
        await client.say("a")
        await client.say("b")
    ids = [u.update_id for u in await bot.get_updates()]
    assert ids == [ids[0], ids[0], ids[0] + 1]


async def polling(server: TelegramRehearsal) -> None:
    while server.updates._poller is None:
        await asyncio.sleep(0)


# webhooks


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


# faults and the control API


async def test_faults_are_used_up_in_order(server, bot):
    chat, _ = await said(server)
    async with RehearsalClient(server.url) as client:
        await client.fault(method="sendMessage", status=429, retry_after=7)
        await client.fault(method="sendMessage", status=500)
        await client.fault(status=400, description="Bad Request: PEER_ID_INVALID", times=2)
        with pytest.raises(RetryAfter) as slow:
            await bot.send_message(chat, "a")
        assert slow.value._retry_after == timedelta(seconds=7)
        with pytest.raises(NetworkError, match="Internal Server Error"):
            await bot.send_message(chat, "b")
        for method in (bot.get_me, bot.get_webhook_info):
            with pytest.raises(BadRequest, match=r"(?i)peer_id_invalid"):
                await method()
        assert await bot.get_me()
        assert [(call["method"], call["status"]) for call in await client.record()] == [
            ("sendMessage", 429), ("sendMessage", 500), ("getMe", 400), ("getWebhookInfo", 400), ("getMe", 200),
        ]  # fmt: skip


@pytest.mark.parametrize(("when", "acted"), [("before", 0), ("after", 1)])
async def test_a_dropped_connection_acted_or_not(server, bot, when, acted):
    chat, _ = await said(server)
    async with RehearsalClient(server.url) as client:
        await client.fault(method="sendMessage", drop=when)
        with pytest.raises(NetworkError):
            await bot.send_message(chat, "a")
        assert len(await client.replies()) == acted


async def test_faults_can_be_taken_away(server, bot):
    async with RehearsalClient(server.url) as client, aiohttp.ClientSession() as session:
        await client.fault(status=500, times=100)
        await session.delete(f"{server.url}/control/faults")
        assert await bot.get_me()
        with pytest.raises(ValueError, match="extra"):
            await client.fault(explode=True)


async def test_a_fault_on_an_upload_is_on_record(server, bot):
    chat, _ = await said(server)
    async with RehearsalClient(server.url) as client:
        await client.fault(method="sendPhoto", status=500)
        with pytest.raises(NetworkError):
            await bot.send_photo(chat, b"bytes")
        (call,) = await client.record()
        assert call["params"]["chat_id"] == str(chat)


async def test_the_control_api_says_hears_and_records(server, bot):
    async with RehearsalClient(server.url) as client:
        one = await client.say("hello", user="Dana")
        two = await client.say("hello", user="Lee")
        waiting = asyncio.create_task(client.replies(chat=one.chat, after=one.after, wait=10))
        await bot.send_message(int(two.chat), "not for Dana")
        await bot.send_message(int(one.chat), "<b>for Dana</b>", parse_mode="HTML", reply_markup=YES)
        (heard,) = await waiting
        assert (heard.text, heard.markup, heard.method) == ("for Dana", "<b>for Dana</b>", "sendMessage")
        assert heard.buttons == [{"text": "Yes", "data": "yes"}]
        assert await client.replies(chat=one.chat, after=heard.n) == []
        first, second = await client.record()
        assert (first["method"], second["method"]) == ("sendMessage", "sendMessage")
        assert await client.record(after=first["n"]) == [second]


async def test_a_whole_reply_is_every_piece_until_it_is_quiet(server, bot):
    async with RehearsalClient(server.url) as client:
        asking = asyncio.create_task(client.ask("hello", user="Dana"))
        (update,) = await bot.get_updates(timeout=10)
        await update.message.reply_text("one")
        await update.message.reply_text("two")
        assert await asking == "one\ntwo"
        with pytest.raises(TimeoutError):
            await client.ask("hello", user="Lee", timeout=0.01)


@pytest.mark.parametrize(
    "request_",
    [{"text": ""}, {"press": "No"}, {"edit": "1:99"}, {"kind": "planet", "chat": "x", "text": "a"},
     {"text": "a", "files": [{"kind": "hologram"}]}, {"react": "👍"}, {"text": "a", "reply_to": "1:99"}],
)  # fmt: skip
async def test_what_cannot_be_said_is_refused(server, request_):
    async with RehearsalClient(server.url) as client:
        with pytest.raises(ValueError, match=r"Unsayable|KeyError"):
            await client.say(**request_)
