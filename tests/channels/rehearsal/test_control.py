"""The control API and its client, whatever the channel."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from channels.rehearsal import RehearsalClient
from channels.rehearsal.control import _is_loopback
from tests.channels.rehearsal.conftest import Plain


async def bot(http, text: str, chat: str = "lobby", **more) -> int:
    async with http.post("/post", json={"chat": chat, "text": text, **more}) as response:
        return response.status


async def waiting(server: Plain, count: int) -> None:
    """Return once so many requests wait for a reply."""
    async with asyncio.timeout(10):
        while sum(len(futures) for futures in server.journal._waiting.values()) < count:
            await asyncio.sleep(0)


async def test_saying_tells_where_and_from_which_position_to_listen(server, phone, http):
    await bot(http, "before")
    said = await phone.say("hello", chat="shop", user="Dana")
    assert (said.chat, said.ref, said.after) == ("shop", "1", server.journal.position)
    assert server.came == ["hello"]
    assert await phone.replies(after=said.after) == []
    await bot(http, "after")
    assert [heard.text for heard in await phone.replies(after=said.after)] == ["after"]


async def test_a_reply_wakes_who_waits_for_its_chat_or_for_any_and_nobody_else(server, phone, http):
    here = asyncio.create_task(phone.replies(chat="here", wait=30))
    there = asyncio.create_task(phone.replies(chat="there", wait=30))
    anywhere = asyncio.create_task(phone.replies(wait=30))
    await waiting(server, 3)
    await bot(http, "one", chat="here")
    assert [heard.text for heard in await here] == [heard.text for heard in await anywhere] == ["one"]
    await waiting(server, 1)
    assert not there.done()
    await bot(http, "two", chat="there")
    assert [heard.text for heard in await there] == ["two"]
    assert server.journal._waiting == {}


async def test_replies_are_read_on_from_next(phone, http):
    for text in ("one", "two", "three"):
        await bot(http, text)
    async with http.get("/control/replies", params={"after": 0}) as response:
        first = await response.json()
    assert [reply["text"] for reply in first["replies"]] == ["one", "two", "three"]
    async with http.get("/control/replies", params={"after": first["next"]}) as response:
        assert await response.json() == {"replies": [], "next": first["next"], "typing": False}


async def test_the_record_has_every_call_with_its_number_time_and_answer(phone, http):
    await bot(http, "one")
    await phone.fault(status=503)
    assert await bot(http, "two") == 503
    first, second = await phone.record()
    assert (first["method"], first["params"], first["status"], first["answer"]) == (
        "post", {"chat": "lobby", "text": "one"}, 200, "ok",
    )  # fmt: skip
    assert (second["status"], second["answer"]) == (503, None)
    assert first["n"] < second["n"]
    assert first["at"] <= second["at"]
    assert await phone.record(after=first["n"]) == [second]
    assert await phone.record(after=second["n"]) == []


async def test_a_whole_reply_is_its_pieces_as_last_edited_until_nothing_more_is_typed(server, phone, http, monkeypatch):
    listened = asyncio.Semaphore(0)

    async def heard(*how):
        listened.release()
        return await listen(*how)

    listen = server.journal.heard
    monkeypatch.setattr(server.journal, "heard", heard)
    monkeypatch.setattr("channels.rehearsal.client.QUIET", 0.001)
    asking = asyncio.create_task(phone.ask("when?", chat="shop"))
    await listened.acquire()
    server.journal.reply("shop", "1", "let me see", "post")
    server.journal.typing("shop", 60.0)
    for _ in range(4):
        await listened.acquire()
    await bot(http, "other", chat="lobby", ref="1")
    server.journal.reply("shop", "1", "at nine", "post")
    server.journal.reply("shop", "2", "or ten", "post")
    assert await asking == "at nine\nor ten"


async def test_typing_alone_is_no_reply(phone, http):
    await bot(http, "", typing=True)
    with pytest.raises(TimeoutError):
        await phone.ask("hello", timeout=0.01)


async def test_a_bot_that_types_on_does_not_outlast_the_timeout(server, phone, http):
    asking = asyncio.create_task(phone.ask("hello", timeout=0.05))
    await waiting(server, 1)
    await bot(http, "one")
    await bot(http, "", typing=True)
    assert await asking == "one"


async def test_reset_forgets_calls_replies_faults_and_what_is_held_back(server, phone, http):
    await bot(http, "one")
    before = server.journal.position
    await phone.fault(status=500, times=9)
    await phone.fault(reorder=True)
    await phone.say("held")
    await phone.reset()
    assert await phone.record() == []
    assert await phone.replies() == []
    assert await bot(http, "two") == 200
    await phone.say("next")
    assert server.came == ["next"]
    assert server.journal.position > before


async def test_a_hook_is_set(server, phone):
    await phone.hook("http://127.0.0.1:1/hook")
    assert server.hook_url == "http://127.0.0.1:1/hook"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "say", b"{"),
        ("POST", "say", b"[]"),
        ("POST", "say", b'{"text": "\\ud83d"}'),
        ("POST", "say", b'{"text": ""}'),
        ("POST", "say", b"{}"),
        ("GET", "replies?after=x", b""),
        ("GET", "replies?wait=-1", b""),
        ("GET", "replies?wait=inf", b""),
        ("GET", "replies?chats=a", b""),
        ("GET", "record?after=", b""),
        ("POST", "faults", b"{"),
        ("POST", "faults", b"{}"),
        ("POST", "faults", b'{"status": 200}'),
        ("POST", "faults", b'{"status": 500, "times": 0}'),
        ("POST", "faults", b'{"explode": true}'),
        ("POST", "faults", b'{"drop": "sideways"}'),
        ("POST", "hook", b'{"uri": "a"}'),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused_with_its_reason(http, method, path, body):
    async with http.request(method, f"/control/{path}", data=body) as response:
        assert response.status == 400
        assert (await response.json())["error"]


async def test_the_client_raises_the_servers_words(phone):
    with pytest.raises(ValueError, match="a message needs text"):
        await phone.say("")


@pytest.mark.parametrize(
    ("address", "allowed"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.7", False),
     ("::ffff:10.0.0.7", False), ("2001:db8::1", False), (None, False)],
)  # fmt: skip
def test_only_this_machine_is_loopback(address, allowed):
    assert _is_loopback(address) is allowed


@pytest.mark.parametrize(("anywhere", "status"), [(False, 403), (True, 200)])
async def test_the_control_api_is_open_to_this_machine_unless_told_otherwise(monkeypatch, anywhere, status):
    monkeypatch.setattr("channels.rehearsal.control._is_loopback", lambda _address: False)
    async with (
        Plain(open_control=anywhere) as server,
        aiohttp.ClientSession(server.url) as http,
        http.get("/control/record") as response,
    ):
        assert response.status == status


async def test_a_server_takes_the_port_it_is_given_or_a_free_one():
    async with Plain() as first:
        assert first.url.startswith("http://127.0.0.1:")
        port = int(first.url.rpartition(":")[2])
    async with Plain(port=port) as again, RehearsalClient(again.url + "/") as client:
        assert again.url == first.url
        assert await client.record() == []
