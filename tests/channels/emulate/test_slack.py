"""The Slack adapter against emulate's Slack: what it posts is read back as a person would.

emulate has no event subscriptions that can be set from outside and no Socket Mode, so nothing comes in here; it knows
neither rates nor the limits of blocks, and reads no arguments in the address of a POST, which Slack does.
"""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from channels.adapter import Call
from channels.errors import SendRefused
from channels.fetch import FetchRefused
from channels.message import Attachment, Button, Conversation, OutboundMessage
from tests.channels.emulate.conftest import BOT, PERSON
from tests.channels.slack.support import opened


@pytest.fixture
def base_url(emulators):
    return f"{emulators.slack}/api/"


@pytest.fixture
async def adapter(base_url):
    async with opened(base_url, bot_token=BOT, signing_secret="s" * 32) as adapter:
        yield adapter


@pytest.fixture
def dana(base_url):
    """A person of the workspace, with slack-sdk's own client."""
    return AsyncWebClient(token=PERSON, base_url=base_url)


async def channel_named(dana: AsyncWebClient, name: str) -> str:
    listed = await dana.api_call("conversations.list", json={"types": "public_channel,private_channel"})
    return next(channel["id"] for channel in listed["channels"] if channel["name"] == name)


def reply(channel: str, text: str, thread: str | None = None, **more: Any) -> OutboundMessage:
    return OutboundMessage(Conversation("team", channel, thread), text, scope="channel", **more)


async def send_all(adapter, message: OutboundMessage) -> list[str]:
    return [(await adapter.send(call)).provider_ref for call in adapter.render(message)]


async def read_back(dana: AsyncWebClient, ref: str, thread: str = "") -> dict[str, Any]:
    channel, _, ts = ref.partition(":")
    method, place = ("conversations.replies", {"ts": thread}) if thread else ("conversations.history", {})
    read = await dana.api_call(method, json={"channel": channel, **place})
    return next(message for message in read["messages"] if message["ts"] == ts)


async def test_the_check_finds_out_whose_token_it_is(adapter):
    report = await adapter.check()
    assert report.ok, report.findings
    assert report.account == "@shop in Bakery"


async def test_a_reply_is_a_markdown_block_with_a_text_of_its_own_and_buttons(adapter, dana):
    channel = await channel_named(dana, "orders")
    said = reply(channel, "**Two** loaves & a <roll>.", buttons=(Button("pay", "Pay", "7"),))
    (ref,) = await send_all(adapter, said)
    posted = await read_back(dana, ref)
    assert posted["user"] == "U0SHOP"
    assert posted["text"] == "Two loaves &amp; a &lt;roll&gt;."
    markdown, actions = posted["blocks"]
    assert markdown["type"] == "markdown"
    assert "**Two** loaves" in markdown["text"]
    assert [(b["text"]["text"], b["value"]) for b in actions["elements"]] == [("Pay", "7")]


async def test_a_reply_in_a_thread_stays_there(adapter, dana):
    channel = await channel_named(dana, "orders")
    asked = await dana.chat_postMessage(channel=channel, text="what is left?")
    (ref,) = await send_all(adapter, reply(channel, "Rye.", asked["ts"]))
    answer = await read_back(dana, ref, asked["ts"])
    assert (answer["text"], answer["thread_ts"]) == ("Rye.", asked["ts"])
    parent = await read_back(dana, f"{channel}:{asked['ts']}")
    assert (parent["reply_count"], parent["reply_users"]) == (1, ["U0SHOP"])


async def test_a_long_reply_arrives_whole_in_the_order_of_its_pieces(adapter, dana):
    channel = await channel_named(dana, "orders")
    refs = await send_all(adapter, reply(channel, "\n\n".join(f"Line {n}. {'word ' * 100}" for n in range(60))))
    assert len(refs) > 1
    texts = "".join([(await read_back(dana, ref))["text"] for ref in refs])
    assert [n for n in range(60) if f"Line {n}." not in texts] == []
    assert texts.index("Line 0.") < texts.index("Line 59.")


async def test_a_direct_message_opens_by_the_persons_id(adapter, dana):
    who = (await dana.auth_test())["user_id"]
    (ref,) = await send_all(adapter, reply(who, "It is ready."))
    assert ref.startswith("D")
    assert (await read_back(dana, ref))["text"] == "It is ready."


async def test_a_file_goes_up_in_three_steps_and_comes_back_as_it_was(adapter, dana, tmp_path):
    channel = await channel_named(dana, "orders")
    asked = await dana.chat_postMessage(channel=channel, text="the menu?")
    menu = tmp_path / "menu.pdf"
    menu.write_bytes(b"%PDF " + bytes(range(256)))
    sent = reply(channel, "Here.", asked["ts"], attachments=(Attachment("document", name="Menu.pdf", path=str(menu)),))
    file_id, _text = await send_all(adapter, sent)
    shared = await dana.api_call("conversations.replies", json={"channel": channel, "ts": asked["ts"]})
    (message,) = [m for m in shared["messages"] if m.get("files")]
    assert (message["files"][0]["id"], message["files"][0]["name"]) == (file_id, "Menu.pdf")
    received = Attachment("document", provider_ref=file_id)
    assert b"".join([chunk async for chunk in adapter.fetch(received, 10_000)]) == menu.read_bytes()
    with pytest.raises(FetchRefused, match="larger"):
        [chunk async for chunk in adapter.fetch(received, 10)]
    with pytest.raises(FetchRefused, match="file_not_found"):
        [chunk async for chunk in adapter.fetch(Attachment("document", provider_ref="F0"), 10)]


@pytest.mark.parametrize(
    ("where", "reason"), [("", "channel_not_found"), ("backroom", "not_in_channel"), ("closed", "is_archived")]
)
async def test_where_the_bot_cannot_speak_is_a_refusal(adapter, dana, where, reason):
    channel = await channel_named(dana, where) if where else "C0NOWHERE"
    if reason == "is_archived":
        await dana.api_call("conversations.archive", json={"channel": channel})
    with pytest.raises(SendRefused) as error:
        await send_all(adapter, reply(channel, "Hello?"))
    assert (error.value.reason, error.value.connection_broken) == (reason, False)


async def test_a_token_that_slack_does_not_know_breaks_the_connection(base_url):
    async with opened(base_url, bot_token="xoxb-unknown", signing_secret="s" * 32) as adapter:
        with pytest.raises(SendRefused) as error:
            await adapter.send(Call("chat.postMessage", {"channel": "C000000001", "text": "hi"}, "C000000001"))
        assert error.value.connection_broken
        assert not (await adapter.check()).ok


async def test_a_scope_that_is_missing_is_named(adapter):
    with pytest.raises(SendRefused, match="reactions:write") as error:
        await adapter.send(Call("reactions.add", {"channel": "C1", "timestamp": "1.1", "name": "eyes"}, "C1"))
    assert (error.value.reason, error.value.connection_broken) == ("missing_scope", True)
