"""What comes from the rehearsed Bot API by polling, and how a test drives it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import aiohttp
import pytest
from telegram.error import BadRequest, Conflict, NetworkError, RetryAfter

from channels.rehearsal import RehearsalClient
from channels.telegram.rehearsal import TelegramRehearsal
from channels.telegram.rehearsal import updates as updates_module
from tests.channels.telegram.conftest import YES, a_bot, said


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


async def test_an_offset_beyond_what_there_is_confirms_nothing(server, bot):
    await said(server, "a")
    assert [u.message.text for u in await bot.get_updates(offset=2_000_000_000)] == ["a"]


async def test_a_short_poll_leaves_a_long_one_alone_and_setting_a_webhook_ends_it(server, bot):
    async with a_bot(server) as other:
        held = asyncio.create_task(bot.get_updates(timeout=20))
        await polling(server)
        assert await other.get_updates(timeout=0) == ()
        await other.set_webhook("https://example.org")
        with pytest.raises(Conflict, match="terminated by setWebhook request"):
            await held


async def test_a_long_poll_is_not_held_for_ever(bot, monkeypatch):
    monkeypatch.setattr(updates_module, "LONGEST_POLL", 0.01)
    assert await bot.get_updates(timeout=1000) == ()


async def test_names_of_kinds_that_do_not_exist_are_passed_over(server, bot):
    await bot.get_updates(allowed_updates=["edited_message", "telepathy"])
    done = await server.say({"text": "a"})
    assert await bot.get_updates() == ()
    await bot.get_updates(allowed_updates=["telepathy"])
    await server.say({"text": "b", "edit": done["ref"]})
    assert [u.edited_message.text for u in await bot.get_updates(allowed_updates=5)] == ["b"]


async def test_a_press_waits_for_less_long_than_a_message(server, bot, monkeypatch):
    monkeypatch.setitem(updates_module.KEPT, "callback_query", -1.0)
    chat, _ = await said(server, "a")
    await bot.send_message(chat, "sure?", reply_markup=YES)
    await server.say({"press": "Yes"})
    await said(server, "b")
    first, *_ = await bot.get_updates()
    assert [u.message.text for u in await bot.get_updates(offset=first.update_id + 1)] == ["b"]


async def test_an_event_held_back_comes_after_the_next_with_ids_in_the_order_of_delivery(server, bot):
    async with RehearsalClient(server.url) as client:
        await client.fault(reorder=True)
        one, two = await client.say("one"), await client.say("two")
    updates = await bot.get_updates()
    assert [u.message.text for u in updates] == ["two", "one"]
    assert updates[0].update_id < updates[1].update_id
    assert one.ref < two.ref


async def polling(server: TelegramRehearsal) -> None:
    while server.updates._poller is None:
        await asyncio.sleep(0)


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
