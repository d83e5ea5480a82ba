"""Socket Mode through bolt and slack-sdk's own client: what is kept is acknowledged, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import WSMsgType, web

from channels.errors import ConnectionBroken, PostroomError
from channels.rehearsal.faults import Fault
from channels.slack.rehearsal import SlackRehearsal
from channels.slack.settings import PUBLIC_API
from tests.channels.slack.support import AUTH, Shelf, opened, receiving


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr("channels.slack.socket_mode.PING_SECONDS", 0.05)


# a link that sends what it is told to, and keeps the acknowledgements


class Link:
    """The far end of one socket."""

    def __init__(self) -> None:
        self.sockets: list[web.WebSocketResponse] = []
        self.acks: list[dict[str, Any]] = []
        self.url = ""
        self._changed = asyncio.Condition()

    async def call(self, request: web.Request) -> web.Response:
        answers = {"auth.test": AUTH, "apps.connections.open": {"ok": True, "url": f"{self.url}/link"}}
        return web.json_response(answers[request.match_info["method"]])

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1})
        self.sockets.append(socket)
        await self._tell()
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                self.acks.append(json.loads(message.data))
                await self._tell()
        return socket

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, count: int) -> list[str]:
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.acks) >= count)
        return [str(ack["envelope_id"]) for ack in self.acks]

    async def send(self, *envelopes: dict[str, Any]) -> None:
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: bool(self.sockets))
        for envelope in envelopes:
            await self.sockets[-1].send_json(envelope)


@pytest.fixture
async def link() -> AsyncIterator[Link]:
    link = Link()
    app = web.Application()
    app.router.add_post("/api/{method}", link.call)
    app.router.add_get("/link", link.serve)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    link.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield link
    await runner.cleanup()


def envelope(number: int, **event: Any) -> dict[str, Any]:
    ts = f"1767322800.{number:06d}"
    inner = {"type": "message", "channel": "D1", "user": "U1", "text": str(number), "ts": ts, **event}
    payload = {"type": "event_callback", "team_id": "T1", "event_id": f"Ev{number}", "event": inner}
    return {
        "type": "events_api", "envelope_id": f"e{number}", "payload": payload, "accepts_response_payload": False,
        "retry_attempt": 0, "retry_reason": "",
    }  # fmt: skip


async def test_envelopes_are_handed_over_in_order_all_at_once_and_acknowledged_when_they_are_kept(link):
    entered: list[str] = []
    kept = asyncio.Event()

    async def intake(messages):
        entered.extend(message.text for message in messages)
        if len(entered) == 50:
            kept.set()
        await kept.wait()
        if messages[0].text == "7":
            await asyncio.Event().wait()

    async with opened(f"{link.url}/api/", app_token="xapp-1") as adapter:
        task = asyncio.create_task(adapter.receive(intake))
        await link.send(*(envelope(number) for number in range(50)))
        acknowledged = await link.until(49)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert entered == [str(number) for number in range(50)]
    assert sorted(acknowledged) == sorted(f"e{number}" for number in range(50) if number != 7)
    assert all(set(ack) == {"envelope_id"} for ack in link.acks)


async def test_nothing_is_acknowledged_that_is_not_kept(link):
    shelf = Shelf(PostroomError("The disk is full."), RuntimeError("a bug"))
    async with opened(f"{link.url}/api/", app_token="xapp-1") as adapter, receiving(adapter, shelf):
        await link.send(envelope(1), envelope(2), envelope(3))
        assert await link.until(1) == ["e3"]
        await link.send(envelope(1), envelope(2))
        assert await link.until(3) == ["e3", "e1", "e2"]
    assert shelf.texts == ["3", "1", "2"]


async def test_what_can_never_be_read_or_is_for_others_is_acknowledged_and_passed_over(link):
    unreadable = envelope(1, channel=None)
    others = envelope(2)
    others["payload"]["team_id"] = "T2"
    unknown = {"type": "something_new", "envelope_id": "e4", "payload": {"type": "something_new", "team_id": "T1"}}
    shelf = Shelf()
    async with opened(f"{link.url}/api/", app_token="xapp-1") as adapter, receiving(adapter, shelf):
        await link.send(unreadable, others, envelope(3), unknown)
        assert sorted(await link.until(4)) == ["e1", "e2", "e3", "e4"]
    assert shelf.texts == ["3"]


async def test_a_lost_socket_is_opened_again(link):
    shelf = Shelf()
    async with opened(f"{link.url}/api/", app_token="xapp-1") as adapter, receiving(adapter, shelf):
        await link.send(envelope(1))
        await link.until(1)
        await link.sockets.pop().close()
        await link.send(envelope(2))
        await link.until(2)
    assert shelf.texts == ["1", "2"]


async def test_bolts_variables_in_the_environment_change_nothing(link, monkeypatch):
    for name in ("BOT_TOKEN", "SIGNING_SECRET", "CLIENT_ID", "CLIENT_SECRET", "VERIFICATION_TOKEN"):
        monkeypatch.setenv(f"SLACK_{name}", "x")
    shelf = Shelf()
    async with opened(f"{link.url}/api/", app_token="xapp-1") as adapter, receiving(adapter, shelf):
        await link.send(envelope(1))
        await link.until(1)
    assert shelf.texts == ["1"]


async def test_a_socket_elsewhere_is_opened_past_the_environments_proxy(link, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    shelf = Shelf()
    async with opened(f"{link.url}/api/", app_token="xapp-1") as adapter, receiving(adapter, shelf):
        await link.send(envelope(1))
        await link.until(1)


@pytest.mark.parametrize(("base_url", "proxied"), [(PUBLIC_API, True), ("http://127.0.0.1:9/api/", False)])
async def test_only_slacks_own_api_is_asked_through_the_environments_proxy(monkeypatch, base_url, proxied):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.org:3128")
    async with opened(base_url) as adapter:
        assert bool(adapter._installations.first.client.web.proxy) is proxied


# the rehearsed Slack


@pytest.fixture
async def server() -> AsyncIterator[SlackRehearsal]:
    async with SlackRehearsal(retry_scale=0.0, echoes=False) as server:
        yield server


@pytest.fixture
async def adapter(server):
    async with opened(server.base_url, bot_token=server.bot_token, app_token=server.app_token) as adapter:
        yield adapter


async def test_what_was_not_kept_comes_again():
    shelf = Shelf(PostroomError("The disk is full."))
    async with (
        SlackRehearsal(retry_scale=0.0, patience=0.5) as server,
        opened(server.base_url, bot_token=server.bot_token, app_token=server.app_token) as adapter,
        receiving(adapter, shelf),
    ):
        await server.say({"text": "one"})
        await shelf.has(1)
    assert (shelf.refused, shelf.texts) == (1, ["one"])


async def test_messages_mentions_commands_and_presses_come_in(server, adapter):
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await server.say({"text": "open?", "mention": True, "chat": "bakery", "mention_first": True})
        await shelf.has(2)
        await server.say({"slash": {"command": "/ask", "text": "when?"}})
        await shelf.has(3)
        mention, twin, command = shelf.kept
        assert set(mention.dedupe_keys) & set(twin.dedupe_keys)
        assert [m.mentions_bot for m in (mention, twin)] == [True, True]
        assert (command.kind, command.text, command.scope) == ("command", "/ask when?", "dm")


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "link_disabled"])
async def test_a_socket_that_slack_ends_is_opened_again(server, adapter, reason):
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await server.say({"text": "one"})
        await shelf.has(1)
        await server.say({"disconnect": reason})
        await server.say({"text": "two"})
        await shelf.has(2)
    assert shelf.texts == ["one", "two"]


async def test_a_passing_failure_on_the_way_is_waited_out(server, adapter):
    for method in ("auth.test", "apps.connections.open"):
        server.faults.add(Fault(method=method, times=2, status=500))
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await server.say({"text": "one"})
        await shelf.has(1)


async def broken(adapter) -> ConnectionBroken:
    with pytest.raises(ConnectionBroken) as error:
        async with asyncio.timeout(10):
            await adapter.receive(Shelf())
    return error.value


async def test_a_bad_app_token_breaks_the_connection(server):
    async with opened(server.base_url, bot_token=server.bot_token, app_token="xapp-wrong") as adapter:
        error = await broken(adapter)
    assert "connections:write" in error.fix
    assert "xapp-wrong" not in str(error)


async def test_a_bad_bot_token_breaks_the_connection(server):
    async with opened(server.base_url, bot_token="xoxb-wrong", app_token=server.app_token) as adapter:
        error = await broken(adapter)
    assert error.fix
    assert "xoxb-wrong" not in str(error)


async def test_an_app_token_that_is_refused_later_breaks_the_connection(server, adapter):
    shelf = Shelf()
    task = asyncio.create_task(adapter.receive(shelf))
    await server.say({"text": "one"})
    await shelf.has(1)
    server.faults.add(Fault(method="apps.connections.open", times=100, status=400, description="invalid_auth"))
    await server.say({"disconnect": "refresh_requested"})
    with pytest.raises(ConnectionBroken):
        await asyncio.wait_for(task, 10)
