"""The vault's key is changed under a running gateway."""

from __future__ import annotations

from tests.e2e.line import open_line


async def test_a_gateway_answers_on_through_a_change_of_key(home):
    home.agent("desk", "## Opening hours\n\nWe are open from nine to five.")
    async with open_line("telegram", home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        assert "nine to five" in await line.client.ask("when are you open?", user="dana")
        for change in ("rotate", "retire"):
            before = len(gateway.events("configuration_reloaded"))
            await home.ok("key", change)
            await line.seen(gateway, before)
            assert "nine to five" in await line.client.ask("when are you open?", user="dana")
        assert len(gateway.events("connection_open")) == 1
        assert gateway.events("secrets_not_opened") == []
        assert await gateway.stop() == 0
        gateway = await line.up()
        assert "nine to five" in await line.client.ask("when are you open?", user="dana")
        assert await gateway.stop() == 0
    assert len((await home.ok("key")).strip()) == 44
