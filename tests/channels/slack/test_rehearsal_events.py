"""What comes from the rehearsed Slack, by Socket Mode and at a request URL, and how a test drives it."""

from __future__ import annotations

import asyncio
import base64
import json
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web as http
from slack_sdk.signature import SignatureVerifier
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from channels.rehearsal import RehearsalClient
from channels.slack.rehearsal import SlackRehearsal

YES = {"type": "button", "text": {"type": "plain_text", "text": "Yes"}, "action_id": "yes", "value": "1"}


@pytest.fixture
async def server():
    async with SlackRehearsal(retry_scale=0.0, echoes=False) as running:
        yield running


@pytest.fixture
def web(server):
    return AsyncWebClient(token=server.bot_token, base_url=server.base_url)


@pytest.fixture
async def people(server):
    async with RehearsalClient(server.url) as client:
        yield client


@pytest.fixture
async def socket(server):
    async with Socket(server) as connected:
        yield connected


@pytest.fixture
async def hook():
    async with Hook() as running:
        yield running


class Socket:
    """slack-sdk's own client. It acknowledges what comes, with `answer`, unless told to be `silent` a few times."""

    def __init__(self, server):
        web = AsyncWebClient(base_url=server.base_url)
        self.client = SocketModeClient(server.app_token, web_client=web, ping_interval=0.05)
        self.client.socket_mode_request_listeners.append(self._heard)
        self.client.on_message_listeners.append(self._told)
        self.requests: asyncio.Queue = asyncio.Queue()
        self.messages: asyncio.Queue = asyncio.Queue()
        self.silent, self.answer = 0, None

    async def _heard(self, client, request):
        self.requests.put_nowait(request)
        if self.silent:
            self.silent -= 1
        else:
            await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, self.answer))

    async def _told(self, message):
        told = json.loads(message.data)
        if told["type"] in ("hello", "disconnect"):
            self.messages.put_nowait(told)

    async def event(self):
        return (await self.requests.get()).payload["event"]

    async def __aenter__(self):
        await self.client.connect()
        self.hello = await self.messages.get()
        return self

    async def __aexit__(self, *_):
        await self.client.close()


class Hook:
    """A request URL: it answers each push with the next of `answers`, then 200."""

    def __init__(self):
        self.pushes: asyncio.Queue = asyncio.Queue()
        self.answers: list[http.Response] = []
        self.challenged = True
        self.held = 0

    async def _push(self, request):
        body = await request.read()
        if b"url_verification" in body:
            return http.json_response({"challenge": json.loads(body)["challenge"] if self.challenged else "no"})
        self.pushes.put_nowait((dict(request.headers), body))
        if self.held:
            self.held -= 1
            await asyncio.Event().wait()
        return self.answers.pop(0) if self.answers else http.Response()

    async def __aenter__(self):
        app = http.Application()
        app.router.add_post("/slack", self._push)
        self._runner = http.AppRunner(app, handler_cancellation=True)
        await self._runner.setup()
        await http.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/slack"
        return self

    async def __aexit__(self, *_):
        await self._runner.cleanup()


# Socket Mode


async def test_a_socket_is_greeted_and_events_are_acknowledged(server, people, socket):
    assert (socket.hello["num_connections"], socket.hello["connection_info"]) == (1, {"app_id": server.world.app_id})
    said = await people.say("a < b https://a.example", user="ann")
    request = await socket.requests.get()
    assert (request.type, request.accepts_response_payload, request.retry_attempt) == ("events_api", False, 0)
    outer, event = request.payload, request.payload["event"]
    assert (outer["type"], outer["api_app_id"], outer["event_id"][:2]) == (
        "event_callback",
        server.world.app_id,
        "Ev",
    )
    assert outer["authorizations"][0] == {
        "enterprise_id": None,
        "team_id": server.world.team_id,
        "user_id": server.world.bot,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    assert outer["team_id"] == server.world.team_id
    assert event["text"] == "a &lt; b <https://a.example>"
    assert event["blocks"][0]["elements"][0]["elements"] == [
        {"type": "text", "text": "a < b "},
        {"type": "link", "url": "https://a.example"},
    ]
    assert (event["channel_type"], event["user"]) == ("im", server.world.person("ann")["id"])
    assert said.ref == f"{event['channel']}:{event['ts']}"
    assert event["client_msg_id"]


async def test_what_is_not_acknowledged_comes_again():
    async with SlackRehearsal(retry_scale=0.0, patience=0.05) as server, Socket(server) as socket:
        socket.silent = 3
        await server.say({"text": "hello"})
        requests = [await socket.requests.get() for _ in range(4)]
    assert [r.retry_attempt for r in requests] == [0, 1, 2, 3]
    assert [r.retry_reason for r in requests] == ["", "timeout", "timeout", "timeout"]
    assert len({r.payload["event_id"] for r in requests}) == 1
    assert len({r.envelope_id for r in requests}) == 4


async def test_a_socket_that_is_told_to_go_comes_back_and_misses_nothing(people, socket):
    await people.say(disconnect="refresh_requested")
    await people.say("hello")
    assert (await socket.messages.get())["reason"] == "refresh_requested"
    assert (await socket.messages.get())["type"] == "hello"
    assert (await socket.event())["text"] == "hello"


async def test_an_event_whose_socket_breaks_goes_to_the_next():
    async with SlackRehearsal(retry_scale=0.0) as server, Socket(server) as first:
        first.silent = 1
        await server.say({"text": "hello"})
        assert (await first.requests.get()).retry_attempt == 0
        await first.client.disconnect()
        async with Socket(server) as second:
            again = await second.requests.get()
    assert (again.retry_attempt, again.payload["event"]["text"]) == (1, "hello")


async def test_a_socket_that_is_told_to_go_and_stays_is_closed():
    async with SlackRehearsal(patience=0.01) as server, aiohttp.ClientSession() as session:
        opened = await AsyncWebClient(base_url=server.base_url).apps_connections_open(app_token=server.app_token)
        async with session.ws_connect(opened["url"]) as socket:
            assert (await socket.receive_json())["type"] == "hello"
            await socket.send_str("nonsense")
            await server.say({"disconnect": "link_disabled"})
            assert (await socket.receive_json())["reason"] == "link_disabled"
            assert (await socket.receive()).type == aiohttp.WSMsgType.CLOSE


async def test_a_ping_is_answered(server):
    async with aiohttp.ClientSession() as session:
        opened = await AsyncWebClient(base_url=server.base_url).apps_connections_open(app_token=server.app_token)
        async with session.ws_connect(opened["url"], autoping=False) as socket:
            assert (await socket.receive_json())["type"] == "hello"
            await socket.ping(b"sdk-ping-pong:1")
            pong = await socket.receive()
            assert (pong.type, bytes(pong.data)) == (aiohttp.WSMsgType.PONG, b"sdk-ping-pong:1")


async def test_what_was_said_before_there_was_a_socket_waits(server, people):
    await people.say("early")
    async with Socket(server) as socket:
        assert (await socket.event())["text"] == "early"


# request URLs


async def test_a_request_url_is_taken_once_it_answers_the_challenge(server, people, hook):
    hook.challenged = False
    with pytest.raises(ValueError, match="challenge parameter"):
        await people.hook(hook.url)
    with pytest.raises(ValueError, match="challenge parameter"):
        await people.hook("http://127.0.0.1:1/slack")
    assert server.hook_url == ""
    hook.challenged = True
    await people.hook(hook.url)
    assert server.hook_url == hook.url


async def test_pushes_are_signed(server, people, hook):
    await people.hook(hook.url)
    await people.say("hello")
    headers, body = await hook.pushes.get()
    assert SignatureVerifier(server.signing_secret).is_valid_request(body, headers)
    assert not SignatureVerifier("other").is_valid_request(body, headers)
    assert json.loads(body)["event"]["text"] == "hello"
    assert "X-Slack-Retry-Num" not in headers


async def test_a_push_is_tried_four_times(server, people, hook):
    await people.hook(hook.url)
    hook.answers = [http.Response(status=500) for _ in range(4)]
    await people.say("hello")
    pushes = [await hook.pushes.get() for _ in range(4)]
    assert [h.get("X-Slack-Retry-Num") for h, _ in pushes] == [None, "1", "2", "3"]
    assert [h.get("X-Slack-Retry-Reason") for h, _ in pushes] == [None, *["http_error"] * 3]
    assert len({body for _, body in pushes}) == 1
    assert all(SignatureVerifier(server.signing_secret).is_valid_request(body, h) for h, body in pushes)
    await people.say("next")
    assert json.loads((await hook.pushes.get())[1])["event"]["text"] == "next"


async def test_no_retry_is_obeyed(people, hook):
    await people.hook(hook.url)
    hook.answers = [http.Response(status=500, headers={"X-Slack-No-Retry": "1"})]
    await people.say("once")
    await hook.pushes.get()
    await people.say("next")
    assert json.loads((await hook.pushes.get())[1])["event"]["text"] == "next"


async def test_an_answer_that_takes_too_long_is_a_timeout(hook):
    hook.held = 1
    async with SlackRehearsal(retry_scale=0.0, patience=0.05, hook_url=hook.url) as server:
        await server.say({"text": "hello"})
        pushes = [await hook.pushes.get() for _ in range(2)]
    assert [h.get("X-Slack-Retry-Reason") for h, _ in pushes] == [None, "http_timeout"]


# what people do


async def test_a_mention_comes_twice_in_either_order(server, people, socket):
    said = await people.say("help", user="ann", chat="general", mention=True)
    message, mention = await socket.event(), await socket.event()
    assert (message["type"], message["channel_type"]) == ("message", "channel")
    assert (mention["type"], mention["text"]) == ("app_mention", f"<@{server.world.bot}> help")
    assert "channel_type" not in mention
    assert message["ts"] == mention["ts"] == said.ref.rpartition(":")[2]
    await people.say("help", chat="general", mention=True, mention_first=True)
    assert [(await socket.event())["type"] for _ in range(2)] == ["app_mention", "message"]
    await people.say("help", mention=True)
    await people.say("next")
    assert [(await socket.event())["type"] for _ in range(2)] == ["message", "message"]


@pytest.mark.parametrize(
    ("kind", "letter", "channel_type"),
    [("dm", "D", "im"), ("group", "C", "channel"), ("private", "C", "group"), ("mpim", "C", "mpim")],
)
async def test_each_kind_of_conversation_has_its_type(people, socket, kind, letter, channel_type):
    said = await people.say("hello", kind=kind)
    event = await socket.event()
    assert (event["channel"], event["channel_type"], said.chat[0]) == (said.chat, channel_type, letter)
    await people.say("again", chat=said.chat)
    assert (await socket.event())["channel"] == said.chat


async def test_threads_and_subtypes(server, people, socket):
    root = await people.say("root", chat="general", user="ann")
    ts = root.ref.rpartition(":")[2]
    await people.say("reply", chat="general", thread=root.ref)
    await people.say("to all", chat="general", thread=ts, subtype="thread_broadcast")
    await people.say("waves", chat="general", subtype="me_message")
    _, reply, broadcast, me = [await socket.event() for _ in range(4)]
    assert (reply["thread_ts"], reply["parent_user_id"]) == (ts, server.world.person("ann")["id"])
    assert (broadcast["subtype"], broadcast["thread_ts"]) == ("thread_broadcast", ts)
    assert (me["subtype"], me["text"]) == ("me_message", "waves")
    for wrong in ({"subtype": "poem"}, {"subtype": "thread_broadcast"}, {"text": ""}, {"kind": "void"}):
        with pytest.raises(ValueError, match="Unsayable"):
            await people.say(**{"text": "a", **wrong})


async def test_a_file_comes_with_where_to_fetch_it(server, people, socket):
    file = {"name": "a.txt", "base64": base64.b64encode(b"hi").decode(), "media_type": "text/plain"}
    await people.say("see", files=[file])
    event = await socket.event()
    assert (event["subtype"], event["text"], event["files"][0]["name"]) == ("file_share", "see", "a.txt")
    headers = {"Authorization": f"Bearer {server.bot_token}"}
    url = event["files"][0]["url_private"]
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        assert await response.read() == b"hi"


async def test_edits_previews_and_deletions_nest_the_message(people, socket):
    said = await people.say("one")
    ts = (await socket.event())["ts"]
    await people.say("two", edit=said.ref)
    changed = await socket.event()
    assert (changed["subtype"], changed["hidden"]) == ("message_changed", True)
    assert (changed["message"]["text"], changed["previous_message"]["text"]) == ("two", "one")
    assert changed["message"]["ts"] == ts != changed["ts"]
    assert "edited" in changed["message"]
    await people.say(edit=said.ref, unfurl="https://a.example")
    preview = await socket.event()
    assert preview["message"]["text"] == preview["previous_message"]["text"] == "two"
    assert preview["message"]["attachments"]
    await people.say(delete=said.ref)
    gone = await socket.event()
    assert (gone["subtype"], gone["deleted_ts"], gone["previous_message"]["text"]) == ("message_deleted", ts, "two")
    with pytest.raises(ValueError, match="no such message"):
        await people.say("three", edit=said.ref)


async def test_other_bots_and_reactions(server, people, socket):
    said = await people.say("beep", user="robot", as_bot=True, chat="general")
    modern = await socket.event()
    assert modern["bot_id"] != server.world.bot_id
    assert "subtype" not in modern
    await people.say("beep", user="robot", as_bot="classic", chat="general")
    classic = await socket.event()
    assert (classic["subtype"], classic["username"]) == ("bot_message", "robot")
    assert "user" not in classic
    await people.say(react="tada", to=said.ref, chat="general", user="ann")
    reaction = await socket.event()
    assert reaction["item"] == {"type": "message", "channel": said.chat, "ts": modern["ts"]}
    assert (reaction["type"], reaction["reaction"]) == ("reaction_added", "tada")


async def test_someone_from_another_workspace(server, people, socket):
    await people.say("hi", user="guest", chat="shared", team="elsewhere")
    outer = (await socket.requests.get()).payload
    assert outer["team_id"] != server.world.team_id
    assert outer["authorizations"][0]["team_id"] == outer["context_team_id"] == server.world.team_id
    assert outer["is_ext_shared_channel"] is True
    assert outer["event"]["team"] == outer["team_id"]


async def test_duplicates_have_the_same_event_id(people, socket):
    await people.fault(duplicate=True)
    await people.say("twice")
    one, two = [(await socket.requests.get()).payload for _ in range(2)]
    assert one == two


async def test_an_event_can_be_overtaken(people, socket):
    await people.fault(reorder=True)
    await people.say("first")
    await people.say("second")
    assert [(await socket.event())["text"] for _ in range(2)] == ["second", "first"]


async def test_the_bot_hears_only_where_it_is(people, socket):
    said = await people.say("hi", chat="general")
    await people.say(member=False, chat="general")
    await people.say("unheard", chat="general")
    await people.say(member=True, chat="general")
    await people.say("heard", chat="general")
    await people.say(archive=True, chat="general")
    kinds = [await socket.event() for _ in range(5)]
    assert [one["type"] for one in kinds] == [
        "message",
        "member_left_channel",
        "member_joined_channel",
        "message",
        "channel_archive",
    ]
    assert kinds[3]["text"] == "heard"
    with pytest.raises(ValueError, match="archived"):
        await people.say("no", chat=said.chat)


async def test_an_app_that_leaves_is_told(server, people, socket):
    await people.say(uninstall=True)
    revoked, gone = await socket.event(), await socket.event()
    assert (revoked["type"], revoked["tokens"]["bot"]) == ("tokens_revoked", [server.world.bot])
    assert gone["type"] == "app_uninstalled"


async def test_an_app_is_told_of_its_own_posts():
    async with SlackRehearsal() as server, Socket(server) as socket:
        web = AsyncWebClient(token=server.bot_token, base_url=server.base_url)
        said = await server.say({"text": "hello"})
        await socket.event()
        posted = await web.chat_postMessage(channel=said["chat"], text="one")
        assert (await socket.event())["bot_id"] == server.world.bot_id
        await web.chat_update(channel=said["chat"], ts=posted["ts"], text="two")
        assert (await socket.event())["message"]["text"] == "two"
        await web.chat_delete(channel=said["chat"], ts=posted["ts"])
        assert (await socket.event())["subtype"] == "message_deleted"


# buttons and commands


async def test_a_button_is_pressed(server, web, people, socket):
    said = await people.say("hello", user="ann")
    await socket.event()
    blocks = [{"type": "actions", "block_id": "ask", "elements": [YES]}]
    posted = await web.chat_postMessage(channel=said.chat, text="Well?", blocks=blocks, thread_ts=said.ref[-17:])
    pressed = await people.say(press="Yes", user="ann")
    request = await socket.requests.get()
    payload = request.payload
    assert (request.type, payload["type"]) == ("interactive", "block_actions")
    assert payload["user"]["id"] == server.world.person("ann")["id"]
    action = payload["actions"][0]
    assert (action["action_id"], action["block_id"], action["value"]) == ("yes", "ask", "1")
    assert payload["container"]["message_ts"] == payload["message"]["ts"] == posted["ts"]
    assert payload["container"]["thread_ts"] == said.ref[-17:]
    assert pressed.ref == f"{said.chat}:{posted['ts']}"
    with pytest.raises(ValueError, match="no button"):
        await people.say(press="Maybe", user="ann")


async def test_a_response_url_takes_five_answers(people, socket):
    said = await people.say(slash={"command": "/ask", "text": "a b"})
    payload = (await socket.requests.get()).payload
    assert (payload["command"], payload["text"], payload["channel_id"]) == ("/ask", "a b", said.chat)
    back = AsyncWebhookClient(payload["response_url"])
    assert [(await back.send(text=f"answer {n}")).status_code for n in range(6)] == [*[200] * 5, 404]
    heard = await people.replies(chat=said.chat, after=said.after)
    assert [one.text for one in heard] == [f"answer {n}" for n in range(5)]
    unknown = AsyncWebhookClient(payload["response_url"] + "x")
    assert (await unknown.send(text="a")).status_code == 404


async def test_a_command_is_answered_with_the_acknowledgement(people, socket):
    socket.answer = {"text": "At once"}
    assert await people.ask("", slash={"command": "/ask"}) == "At once"


async def test_commands_and_presses_reach_a_request_url_as_forms(server, web, people, hook):
    await people.hook(hook.url)
    hook.answers = [http.json_response({"text": "Soon"}), http.Response(status=500)]
    assert await people.ask("", slash={"command": "/ask", "text": "a&b"}) == "Soon"
    headers, body = await hook.pushes.get()
    assert SignatureVerifier(server.signing_secret).is_valid_request(body, headers)
    assert parse_qs(body.decode())["text"] == ["a&b"]
    assert await people.ask("", slash={"command": "/ask"}) == '/ask failed with the error "dispatch_failed"'
    await hook.pushes.get()
    said = await people.say("hello")
    await hook.pushes.get()
    blocks = [{"type": "actions", "elements": [YES]}]
    await web.chat_postMessage(channel=said.chat, text="Well?", blocks=blocks)
    await people.say(press="1")
    _, body = await hook.pushes.get()
    assert json.loads(parse_qs(body.decode())["payload"][0])["actions"][0]["value"] == "1"
