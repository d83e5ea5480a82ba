"""How the rehearsed Bot API is called, from any client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from channels.rehearsal import RehearsalClient
from tests.channels.telegram.conftest import said

Answer = dict[str, Any]


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def called(http, server, method: str, *, verb: str = "POST", token: str = "", **how: Any) -> tuple[int, Answer]:
    async with http.request(verb, f"{server.url}/bot{token or server.token}/{method}", **how) as response:
        return response.status, await response.json()


@pytest.mark.parametrize("way", ["query", "form", "multipart", "json", "JSON with text"])
async def test_parameters_come_in_any_way(server, http, way):
    chat, number = await said(server)
    markup = {"inline_keyboard": [[{"text": "Yes", "callback_data": "yes"}]]}
    params = {"chat_id": chat, "text": "ä & b", "reply_markup": markup, "reply_parameters": {"message_id": number}}
    flat = {k: v if isinstance(v, str) else json.dumps(v) for k, v in params.items()}
    multipart = aiohttp.FormData(quote_fields=False)
    for name, value in flat.items():
        multipart.add_field(name, value, content_type="text/plain")
    how: dict[str, dict[str, Any]] = {
        "query": {"verb": "GET", "params": flat},
        "form": {"data": flat},
        "multipart": {"data": multipart},
        "json": {"json": params},
        "JSON with text": {"json": flat},
    }
    status, answer = await called(http, server, "sendMessage", **how[way])
    assert (status, answer["ok"], answer["result"]["text"]) == (200, True, "ä & b")
    assert answer["result"]["reply_markup"] == markup
    assert answer["result"]["reply_to_message"]["message_id"] == number


async def test_the_query_and_the_body_go_together_and_the_body_goes_first(server, http):
    chat, _ = await said(server)
    params = {"chat_id": str(chat), "text": "query"}
    _, answer = await called(http, server, "sendMessage", params=params, json={"text": "body"})
    assert answer["result"]["text"] == "body"


async def test_names_of_methods_are_taken_in_any_case_and_recorded_as_documented(server, http):
    assert (await called(http, server, "GETME", verb="GET"))[1]["result"]["is_bot"] is True
    async with RehearsalClient(server.url) as client:
        assert [call["method"] for call in await client.record()] == ["getMe"]


@pytest.mark.parametrize(
    ("method", "how", "status", "words"),
    [
        ("sendDiceGame", {}, 404, "Not Found: method not found"),
        ("getMe", {"token": "1000000001:" + "X" * 35}, 401, "Unauthorized"),
        ("getMe", {"token": "1000000001"}, 404, "Not Found"),
        ("getMe", {"token": "a:" + "X" * 35}, 404, "Not Found"),
        ("getMe", {"verb": "DELETE"}, 404, "Not Found"),
        (
            "sendMessage",
            {"data": b"{", "headers": {"Content-Type": "application/json"}},
            400,
            "can't parse JSON object",
        ),
        ("sendMessage", {"json": [1]}, 400, "can't parse JSON object"),
        ("sendMessage", {"json": {"chat_id": 1, "text": "\ud83d"}}, 400, "can't parse JSON object"),
        ("sendMessage", {}, 400, "message text is empty"),
        ("sendMessage", {"json": {"text": "a"}}, 400, "chat_id is empty"),
        ("sendMessage", {"json": {"text": "a", "chat_id": "x"}}, 400, "chat not found"),
        ("sendMessage", {"json": {"text": "a", "chat_id": None}}, 400, "chat_id is empty"),
        ("sendMessage", {"json": {"text": "a", "chat_id": "@nobody"}}, 400, "chat not found"),
        (
            "sendMessage",
            {"json": {"text": "a", "reply_parameters": "{"}},
            400,
            "can't parse reply parameters JSON object",
        ),
        ("sendMessage", {"json": {"text": "a", "reply_parameters": {"a": 1}}}, 400, 'can\'t find field "message_id"'),
        (
            "sendMessage",
            {"json": {"text": "a", "link_preview_options": "[1]"}},
            400,
            "object expected as link preview options",
        ),
        ("sendChatAction", {"json": {"chat_id": 1}}, 400, "wrong parameter action in request"),
        ("editMessageText", {"json": {"text": "a"}}, 400, "message identifier is not specified"),
        ("deleteMessage", {"json": {"message_id": 1}}, 400, "chat identifier is not specified"),
        ("deleteMessage", {"json": {"chat_id": 1}}, 400, "message identifier is not specified"),
        ("getFile", {}, 400, "file_id not specified"),
        ("answerCallbackQuery", {}, 400, "query is too old and response timeout expired or query ID is invalid"),
        ("setMyCommands", {"json": {"commands": "{"}}, 400, "can't parse commands JSON object"),
        ("setMyCommands", {"json": {"commands": "{}"}}, 400, "expected an Array of BotCommand"),
        ("setMyCommands", {"json": {"commands": [5]}}, 400, "can't parse BotCommand: expected an Object"),
        ("setMyCommands", {"json": {}}, 200, ""),
        ("setMessageReaction", {"json": {"reaction": {}}}, 400, "expected an Array of ReactionType"),
        ("setWebhook", {"json": {"url": "https://149.154.167.220"}}, 200, ""),
        ("getUpdates", {"json": {"allowed_updates": "{", "limit": "x", "offset": []}}, 200, ""),
        (
            "sendMessage",
            {"data": b"--a--", "headers": {"Content-Type": "multipart/form-data"}},
            400,
            "can't parse the multipart body",
        ),
        ("setWebhook", {"json": {"url": "ftp://a"}}, 400, "invalid webhook URL specified"),
        ("setWebhook", {"json": {"url": "https://a:b"}}, 400, "invalid webhook URL specified"),
        (
            "setWebhook",
            {"json": {"url": "https://[2001:db8::1]"}},
            400,
            "bad webhook: IPv6-only addresses are not allowed",
        ),
    ],
)
async def test_a_bad_call_is_answered_in_telegrams_envelope(server, http, method, how, status, words):
    got, answer = await called(http, server, method, **how)
    assert got == status
    if status == 400:
        words = f"Bad Request: {words}"
    if words:
        assert answer == {"ok": False, "error_code": status, "description": words}


async def test_what_lies_elsewhere_is_not_found(server, http):
    for path in ("/", "/bot", f"/bot{server.token}", "/file/bot1:x/documents/file_0", "/control/nothing"):
        async with http.get(f"{server.url}{path}") as response:
            assert (response.status, (await response.json())["ok"]) == (404, False)


async def test_the_pause_is_in_a_header_too(server, http):
    async with RehearsalClient(server.url) as client:
        await client.fault(method="GetMe", status=429, retry_after=3)
        await client.fault(method="getMe", status=502)
    async with http.get(f"{server.base_url}{server.token}/getMe") as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "3.0")
        assert (await response.json())["parameters"] == {"retry_after": 3.0}
    assert await called(http, server, "getMe") == (
        502, {"ok": False, "error_code": 502, "description": "Bad Gateway"},
    )  # fmt: skip


async def test_a_file_and_its_name_are_the_servers_own(server, http):
    chat, _ = await said(server)
    form = aiohttp.FormData()
    form.add_field("chat_id", str(chat))
    form.add_field("photo", "attach://upload")
    form.add_field("upload", b"bytes", filename="../a b.JPG", content_type="image/jpeg")
    _, answer = await called(http, server, "sendPhoto", data=form)
    file_id = answer["result"]["photo"][-1]["file_id"]
    _, answer = await called(http, server, "getFile", json={"file_id": file_id})
    path = answer["result"]["file_path"]
    assert path == "photos/file_0.JPG"
    assert (await called(http, server, "getFile", json={"file_id": file_id}))[1] == answer
    for token, status in ((server.token, 200), ("1000000001:" + "X" * 35, 401), ("x", 404)):
        async with http.get(f"{server.url}/file/bot{token}/{path}") as response:
            assert response.status == status
            if status == 200:
                assert await response.read() == b"bytes"


@pytest.mark.parametrize("size", [53_000_000, 61_000_000])
async def test_a_request_that_is_too_large_is_refused(server, http, size):
    form = aiohttp.FormData()
    form.add_field("document", b"0" * size, filename="a")
    answer = await called(http, server, "sendDocument", data=form)
    assert answer == (413, {"ok": False, "error_code": 413, "description": "Request Entity Too Large"})


async def test_any_request_that_is_too_large_is_refused(server, http):
    answer = await called(http, server, "sendMessage", json={"text": "a" * 61_000_000})
    assert answer[0] == 413


async def test_a_call_that_is_dropped_before_acting_is_on_record_without_an_answer(server, http):
    async with RehearsalClient(server.url) as client:
        await client.fault(method="getMe", drop=True)
        with pytest.raises(aiohttp.ClientError):
            await called(http, server, "getMe")
        (call,) = await client.record()
        assert (call["method"], call["status"], call["answer"]) == ("getMe", 0, None)


async def test_what_was_answered_stays_as_it_was_when_the_message_changes(server, http):
    chat, _ = await said(server)
    _, sent = await called(http, server, "sendMessage", json={"chat_id": chat, "text": "one"})
    number = sent["result"]["message_id"]
    await called(http, server, "editMessageText", json={"chat_id": chat, "message_id": number, "text": "two"})
    async with RehearsalClient(server.url) as client:
        first, second = await client.record()
        assert (first["answer"]["result"]["text"], second["answer"]["result"]["text"]) == ("one", "two")
        assert [(heard.text, heard.ref) for heard in await client.replies()] == [
            ("one", f"{chat}:{number}"), ("two", f"{chat}:{number}"),
        ]  # fmt: skip


async def test_typing_is_seen_until_the_bot_writes(server, http):
    chat, _ = await said(server)
    await called(http, server, "sendChatAction", json={"chat_id": chat, "action": "typing"})
    assert server.journal.is_typing(str(chat))
    await called(http, server, "sendMessage", json={"chat_id": chat, "text": "one"})
    assert not server.journal.is_typing(str(chat))
