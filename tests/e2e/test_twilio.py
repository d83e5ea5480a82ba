"""What is Twilio's own, end to end: statuses joined to deliveries, opt-outs, pictures in the inbox."""

from __future__ import annotations

import asyncio
import base64

import pytest

from tests.e2e.line import open_line
from tests.support.gateway import Home
from tests.support.scripted_model import Reply, ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


@pytest.fixture
async def desk(tmp_path):
    """A home whose agent may read, and the model behind it."""
    home = Home(tmp_path / "home")
    async with ScriptedModel(lambda asked: Reply(f"You said: {asked.last}")) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        home.agent("desk", "Answer.", allowedTools=["read"])
        yield home, model


async def delivery_status(home: Home, key: str, wanted: str) -> dict:
    async with asyncio.timeout(30):
        while True:
            shown = await home.json("conversation", "show", key)
            if shown["deliveries"] and shown["deliveries"][-1]["status"] == wanted:
                return shown
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(("channel", "last"), [("sms", "delivered"), ("whatsapp", "read")])
async def test_a_delivery_follows_the_providers_reports(desk, channel, last):
    home, _model = desk
    async with open_line(channel, home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        said = await line.client.say("hello", user="dana")
        await delivery_status(home, f"{channel}/{said.chat}", last)
        assert await gateway.stop() == 0


async def test_stop_is_recorded_and_nothing_is_sent_until_the_person_comes_back(desk):
    home, model = desk
    async with open_line("sms", home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        assert await line.client.ask("hello", user="dana") == "You said: hello"
        said = await line.client.say("STOP", user="dana")
        key = f"sms/{said.chat}"
        await line.client.say("are you there?", user="dana")
        shown = await delivery_status(home, key, "failed")
        assert "STOP" in shown["deliveries"][-1]["error"]
        await line.client.say("START", user="dana")
        assert await line.client.ask("back again", user="dana") == "You said: back again"
        shown = await home.json("conversation", "show", key)
        reasons = {m["text"]: m["reason"] for m in shown["messages"] if m["state"] == "ignored"}
        assert reasons == {"STOP": "kind_membership", "START": "kind_membership"}
        assert len(model.requests) == 3
        sends = [c for c in await line.client.record() if c["method"] == "messages"]
        assert [c["status"] for c in sends] == [201, 201]
        assert await gateway.stop() == 0


@pytest.mark.parametrize("channel", ["whatsapp", "sms"])
async def test_a_picture_reaches_the_run_as_a_file(desk, channel):
    home, model = desk
    async with open_line(channel, home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        picture = {"base64": base64.b64encode(PNG).decode(), "media_type": "text/html"}
        await line.client.ask("what is this?", user="dana", files=[picture])
        assert "image/png" in model.requests[0].last
        (stored,) = (home.path / "inbox").rglob("*.png")
        assert stored.read_bytes() == PNG
        assert await gateway.stop() == 0
