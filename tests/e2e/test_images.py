"""A photo that a customer sends, through the real process to the model."""

from __future__ import annotations

import base64

import pytest

from tests.e2e.line import open_line
from tests.support.scripted_model import ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32
IN_BASE64 = base64.b64encode(PNG).decode()
FILES = {
    "telegram": [{"kind": "photo", "name": "door.png", "base64": IN_BASE64}],
    "slack": [
        {"name": "door.png", "media_type": "image/png", "base64": IN_BASE64},
        {"name": "door.txt", "media_type": "text/plain", "base64": IN_BASE64},
    ],
    "whatsapp": [{"media_type": "image/png", "base64": IN_BASE64}],
}


@pytest.mark.parametrize("channel", FILES)
async def test_a_photo_reaches_the_model_of_an_agent_without_tools(home, channel):
    async with ScriptedModel(lambda _asked: "A blue door.") as model, open_line(channel, home) as line:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        home.agent("desk", "Answer.")
        await line.deploy("desk")
        gateway = await line.up()
        said = await line.client.say("what is this?", user="dana", files=FILES[channel])
        await line.until(said, lambda last: last == "A blue door.")

        image, text = model.requests[0].body["messages"][-1]["content"]
        assert image == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IN_BASE64}"}}
        assert text["text"].startswith("what is this?\n[image")
        assert text["text"].count("not fetched") == len(FILES[channel]) - 1, "any other file is no use to it"
        stored = b"".join(path.read_bytes() for path in home.path.glob("*.db*"))
        assert b"was shown here]" in stored
        assert IN_BASE64.encode() not in stored
        assert await gateway.stop() == 0
