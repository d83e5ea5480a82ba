"""Files of an agent's own, through the real process to the provider."""

from __future__ import annotations

import asyncio
import hashlib
import shutil

import pytest

from tests.e2e.line import open_line
from tests.support.gateway import Home
from tests.support.scripted_model import Reply, ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32
DIGEST = hashlib.sha256(PNG).hexdigest()
ANSWER = "Our menu:\n\n![menu](state/menu.png)"


@pytest.fixture
async def home(tmp_path):
    """A home whose agent answers with a picture of its own."""
    home = Home(tmp_path / "home")
    async with ScriptedModel(lambda _asked: Reply(ANSWER)) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        folder = home.agent("desk", "Answer.", allowedTools=["read"])
        (folder / "state" / "menu.png").write_bytes(PNG)
        yield home


@pytest.mark.parametrize(
    ("channel", "method", "text"),
    [("telegram", "sendPhoto", "Our menu:"), ("slack", "files.completeUploadExternal", "[menu.png]")],
)
async def test_a_picture_of_the_agents_own_is_uploaded(home, channel, method, text):
    async with open_line(channel, home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        said = await line.client.say("menu?", user="dana")
        heard = await line.until(said, lambda last: last == "Our menu:")
        assert (heard[0].method, heard[0].text) == (method, text)
        assert [(file["name"], file["sha256"]) for file in heard[0].files] == [("menu.png", DIGEST)]
        assert await gateway.stop() == 0


@pytest.mark.parametrize(("channel", "last"), [("whatsapp", "read"), ("sms", "delivered")])
async def test_twilio_fetches_a_picture_from_the_gateway(home, channel, last):
    async with open_line(channel, home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        said = await line.client.say("menu?", user="dana")
        (heard,) = await line.client.replies(chat=said.chat, after=said.after, wait=30)
        assert heard.text == "Our menu:"
        assert heard.files == [{"name": "menu.png", "media_type": "image/png", "size": len(PNG), "sha256": DIGEST}]
        async with asyncio.timeout(30):
            while (await shown(home, channel, said.chat))["deliveries"][-1]["status"] != last:
                await asyncio.sleep(0.05)
        assert {line["method"] for line in gateway.events("media_fetched")} == {"HEAD", "GET"}
        assert await gateway.stop() == 0


async def test_a_send_that_is_tried_again_after_a_restart_has_a_good_address(home):
    async with open_line("whatsapp", home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        await line.client.fault(method="messages", status=429, times=1000)
        said = await line.client.say("menu?", user="dana")
        async with asyncio.timeout(30):
            while not [c for c in await line.client.record() if c["method"] == "messages"]:
                await asyncio.sleep(0.02)
        await gateway.kill()
        shutil.rmtree(home.path / "agents" / "desk" / "state")
        await line.client.clear_faults()
        gateway = await line.up()
        (heard,) = await line.client.replies(chat=said.chat, after=said.after, wait=30)
        assert [file["size"] for file in heard.files] == [len(PNG)]
        assert await gateway.stop() == 0


async def test_a_file_that_does_not_fit_leaves_a_line_and_a_note_in_the_run(home):
    (home.path / "agents" / "desk" / "state" / "menu.png").write_bytes(PNG + b"\0" * 5_000_000)
    async with open_line("sms", home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        said = await line.client.say("menu?", user="dana")
        (heard,) = await line.client.replies(chat=said.chat, after=said.after, wait=30)
        assert (heard.text, heard.files) == ("Our menu:\n\n(menu.png could not be sent.)", [])
        (run,) = (await shown(home, "sms", said.chat))["runs"]
        assert run["detail"]["notes"] == ["menu.png was not sent: it is larger than 5 MB."]
        assert await gateway.stop() == 0


async def shown(home: Home, channel: str, chat: str) -> dict:
    """What is known of a conversation."""
    return await home.json("conversation", "show", f"{channel}/{chat}")
