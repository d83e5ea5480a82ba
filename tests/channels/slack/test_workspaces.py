"""One app in two workspaces, by Socket Mode and over HTTP: each gets its own answers, and one alone can be lost."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from channels.adapter import HookRequest
from channels.errors import ConnectionBroken, SendRefused, SendRetry
from channels.message import Attachment, Button, Conversation, OutboundMessage
from channels.slack.installations import AccountUnknown
from channels.slack.rehearsal import SlackRehearsal
from tests.channels.slack.support import AUTH, HOOK, Page, Shelf, far_end, opened, receiving
from tests.channels.slack.test_adapter import EVENT, NOW

CAFE = "cafe"


@pytest.fixture
async def server():
    async with SlackRehearsal(retry_scale=0.0, echoes=False, more_teams=(CAFE,)) as server:
        yield server


def tokens(server, *extra: str) -> str:
    return "\n".join([*(w.bot_token for w in server.workspaces), *extra])


@asynccontextmanager
async def by_socket(server, shelf, bot_token: str = "", **settings) -> AsyncIterator[object]:
    async with (
        opened(server.base_url, bot_token=bot_token or tokens(server), app_token=server.app_token) as adapter,
        receiving(adapter, shelf),
    ):
        yield adapter


@asynccontextmanager
async def over_http(server, shelf, bot_token: str = "") -> AsyncIterator[object]:
    token = bot_token or tokens(server)
    async with opened(server.base_url, bot_token=token, signing_secret=server.signing_secret) as adapter:
        await adapter.receive(shelf)

        async def hook(asked: web.Request) -> web.Response:
            request = HookRequest(asked.method, HOOK, asked.headers, dict(asked.query), await asked.read())
            verified = adapter.verify(request)
            await shelf(adapter.normalise(verified.payload, datetime.now(UTC)))
            return web.Response(status=verified.reply.status, body=verified.reply.body)

        app = web.Application()
        app.router.add_post("/hook", hook)
        async with TestServer(app) as listener:
            await server.set_hook(str(listener.make_url("/hook")))
            yield adapter


WAYS = pytest.mark.parametrize("way", [by_socket, over_http], ids=["socket", "http"])


async def answer(adapter, message, text: str, **more) -> str:
    said = OutboundMessage(message.conversation, text, scope=message.scope, reply_to=message.message_ref, **more)
    (call,) = adapter.render(said)
    return (await adapter.send(call)).provider_ref


def posted(server, number: int) -> list[str]:
    chats = server.workspaces[number].world.chats.values()
    return [m["text"] for chat in chats for m in chat.messages.values() if "bot_id" in m]


@WAYS
async def test_each_workspace_is_answered_in_its_own(server, way):
    shelf = Shelf()
    async with way(server, shelf) as adapter:
        await server.say({"text": "here", "chat": "bakery", "user": "ann"})
        await shelf.has(1)
        await server.say({"text": "there", "chat": "bakery", "user": "ann", "workspace": CAFE})
        await shelf.has(2)
        here, there = shelf.kept
        refs = [await answer(adapter, message, f"to {message.text}") for message in shelf.kept]
    team_id = server.workspaces[1].world.team_id
    assert there.conversation.chat_id == f"{team_id}:{here.conversation.chat_id}", "the same channel and person ids"
    assert there.sender.id == f"{team_id}:{here.sender.id}"
    assert not set(here.dedupe_keys) & set(there.dedupe_keys)
    assert (posted(server, 0), posted(server, 1)) == (["to here"], ["to there"])
    assert [ref.rpartition(":")[0] for ref in refs] == [m.conversation.chat_id for m in shelf.kept]


@WAYS
async def test_buttons_commands_and_files_keep_to_their_workspace(server, way, tmp_path):
    (tmp_path / "menu.txt").write_text("coffee")
    shelf = Shelf()
    file = {"name": "a.png", "media_type": "image/png", "base64": base64.b64encode(b"a picture").decode()}
    async with way(server, shelf) as adapter:
        await server.say({"text": "see", "files": [{**file, "base64": ""}], "chat": "bakery"})
        await shelf.has(1)
        await server.say({"text": "see", "files": [file], "chat": "bakery", "workspace": CAFE})
        await shelf.has(2)
        fetched = [chunk async for chunk in adapter.fetch(shelf.kept[1].attachments[0], 100)]
        assert b"".join(fetched) == b"a picture"
        attached = (Attachment("document", path=str(tmp_path / "menu.txt")),)
        await answer(adapter, shelf.kept[1], "", attachments=attached)
        await answer(adapter, shelf.kept[1], "Shall I?", buttons=(Button("yes", "Yes"),))
        await server.say({"press": "Yes", "chat": "bakery", "workspace": CAFE})
        await shelf.has(3)
        pressed = shelf.kept[2]
        assert pressed.conversation == shelf.kept[1].conversation
        acknowledged = OutboundMessage(pressed.conversation, purpose="ack", action=pressed.action)
        for call in adapter.render(acknowledged):
            await adapter.send(call)
        await server.say({"slash": {"command": "/ask", "text": "when?"}, "chat": "bakery", "workspace": CAFE})
        await shelf.has(4)
    assert shelf.kept[3].conversation.chat_id == pressed.conversation.chat_id
    world = server.workspaces[1].world
    (chat,) = world.chats.values()
    asked = next(m for m in chat.messages.values() if m["text"] == "Shall I?")
    assert [block["type"] for block in asked["blocks"]] == ["markdown"], "its buttons are gone"
    assert any(f.content == b"coffee" for f in world.files.values())
    assert posted(server, 0) == []


@WAYS
async def test_a_shared_channel_goes_by_the_authorization(server, way):
    shelf = Shelf()
    async with way(server, shelf):
        await server.say({"text": "hi", "user": "guest", "chat": "shared", "team": CAFE})
        await shelf.has(1)
    (message,) = shelf.kept
    assert message.raw["team_id"] == server.workspaces[1].world.team_id
    assert ":" not in message.conversation.chat_id, "it was sent to the first workspace's app"


@WAYS
async def test_an_app_taken_out_of_one_workspace_goes_on_in_the_other(server, way):
    shelf = Shelf()
    async with way(server, shelf) as adapter:
        await server.say({"text": "there", "workspace": CAFE})
        await shelf.has(1)
        await server.say({"uninstall": True, "workspace": CAFE})
        await shelf.has(3)
        with pytest.raises(SendRefused, match=r"Workspace cafe \(T") as refused:
            await answer(adapter, shelf.kept[0], "too late")
        assert refused.value.connection_broken
        await server.say({"text": "here"})
        await shelf.has(4)
        await answer(adapter, shelf.kept[3], "still here")
    revoked, gone = (m.status for m in shelf.kept[1:3])
    assert revoked is not None
    assert gone is not None
    assert {revoked.code, gone.code} == {"tokens_revoked", "app_uninstalled"}
    assert all(CAFE in status.detail for status in (revoked, gone))
    assert (posted(server, 0), posted(server, 1)) == (["still here"], [])


@WAYS
async def test_a_token_that_is_refused_at_the_start_is_named_and_the_others_serve(server, way):
    shelf = Shelf()
    async with way(server, shelf, tokens(server, "xoxb-wrong")):
        await shelf.has(1)
        await server.say({"text": "there", "workspace": CAFE})
        await shelf.has(2)
    status = shelf.kept[0].status
    assert status is not None
    assert (status.subject, status.state, "Bot token 3" in status.detail) == ("connection", "needs_attention", True)
    assert "xoxb" not in status.detail
    assert shelf.texts[1:] == ["there"]


async def test_the_first_workspace_keeps_its_plain_ids_without_its_token(server):
    async with opened(
        server.base_url, bot_token=f"xoxb-gone {server.workspaces[1].bot_token}", app_token=server.app_token
    ) as adapter:
        await adapter._installations.learn("team", 0.001)
        account = adapter._installations.all[1].account
        assert account is not None
        assert adapter._installations.abroad(account) == account.team_id
        call = adapter.render(OutboundMessage(Conversation("team", "C1"), "hi"))[0]
        with pytest.raises(SendRefused):
            await adapter.send(call)


async def test_a_workspace_may_be_named_home(server):
    team_id = server.workspaces[1].world.team_id
    async with opened(server.base_url, bot_token=tokens(server), app_token="x", home_team=team_id) as adapter:
        send = adapter.render(OutboundMessage(Conversation("team", "C1"), "hi"))[0]
        with pytest.raises(SendRetry):
            await adapter.send(send)
        await adapter._installations.learn("team", 0.001)
        assert adapter._installations.at("") is adapter._installations.all[1]
        assert [adapter._installations.abroad(each.account) == "" for each in adapter._installations.all] == [
            False,
            True,
        ]


async def test_an_event_waits_while_it_could_be_for_a_workspace_that_is_not_known_yet():
    async with far_end() as far, opened(f"{far.url}/api/", bot_token="a b", signing_secret="s" * 32) as adapter:
        installations = adapter._installations
        installations.all[0].account, _ = await installations.all[0].client.identify()
        assert adapter.normalise(EVENT, NOW)
        with pytest.raises(AccountUnknown):
            adapter.normalise(EVENT | {"team_id": "T2"}, NOW)
        far.answer("auth.test", AUTH | {"team_id": "T2"})
        installations.all[1].account, _ = await installations.all[1].client.identify()
        (message,) = adapter.normalise(EVENT | {"team_id": "T2"}, NOW)
        assert message.conversation.chat_id == "T2:D1"
        assert adapter.normalise(EVENT | {"team_id": "T3"}, NOW) == []


async def test_a_delivery_to_a_workspace_without_a_token_is_refused(server):
    async with opened(server.base_url, bot_token=tokens(server), app_token="x") as adapter:
        (call,) = adapter.render(OutboundMessage(Conversation("team", "T0NOWHERE1:C1"), "hi"))
        with pytest.raises(SendRetry):
            await adapter.send(call)
        await adapter._installations.learn("team", 0.001)
        with pytest.raises(SendRefused, match="T0NOWHERE1") as refused:
            await adapter.send(call)
        assert refused.value.fix


async def test_where_every_token_is_refused_the_connection_is_broken(server):
    async with opened(server.base_url, bot_token="xoxb-1,xoxb-2", app_token=server.app_token) as adapter:
        with pytest.raises(ConnectionBroken):
            await adapter.receive(Shelf())


async def test_a_check_tells_of_each_workspace(server):
    async with opened(server.base_url, bot_token=tokens(server), app_token=server.app_token) as adapter:
        report = await adapter.check()
    assert (report.ok, report.account) == (True, "@rehearsal_bot in rehearsal, @rehearsal_bot in cafe")
    assert [f.code for f in report.findings] == ["token", "scopes", "token", "scopes", "socket"]
    assert report.findings[3].message.startswith("cafe: ")
    await server.say({"uninstall": True, "workspace": CAFE})
    async with opened(server.base_url, bot_token=tokens(server), app_token=server.app_token) as adapter:
        report = await adapter.check()
    assert [(f.code, f.ok) for f in report.findings] == [
        ("token", True), ("scopes", True), ("token", False), ("socket", True),
    ]  # fmt: skip
    assert report.findings[2].message.startswith("Bot token 2: ")


async def test_a_check_finds_two_tokens_of_one_workspace_and_one_that_does_not_answer():
    async with far_end() as far, opened(f"{far.url}/api/", bot_token="a b", signing_secret="s" * 32) as adapter:
        report = await adapter.check()
        assert [f.code for f in report.findings if not f.ok] == ["workspace_twice"]
    async with far_end() as far, opened(f"{far.url}/api/", bot_token="a b", signing_secret="s" * 32) as adapter:
        far.answer("auth.test", AUTH, Page(503))
        report = await adapter.check()
        assert [f.code for f in report.findings if not f.ok] == ["unreachable"]
