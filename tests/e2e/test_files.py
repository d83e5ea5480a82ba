"""Files of an agent's own, through the real process to the provider."""

from __future__ import annotations

import pytest

from tests.e2e.line import open_line
from tests.support.gateway import Home
from tests.support.scripted_model import Reply, ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32
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
    ("channel", "method", "heard"),
    [("telegram", "sendPhoto", "Our menu:"), ("slack", "files.completeUploadExternal", "[menu.png]\nOur menu:")],
)
async def test_a_picture_of_the_agents_own_is_uploaded(home, channel, method, heard):
    async with open_line(channel, home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        assert await line.client.ask("menu?", user="dana") == heard
        assert [c["status"] for c in await line.client.record() if c["method"] == method] == [200]
        assert await gateway.stop() == 0
