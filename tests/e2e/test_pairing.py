"""A stranger, a code, and the owner's word, on a running gateway."""

from __future__ import annotations

import re

from tests.e2e.line import open_line


async def test_a_stranger_is_let_in_by_the_code_they_were_told(home):
    home.agent("desk", "## Opening hours\n\nWe are open from nine to five.")
    async with open_line("telegram", home) as line:
        await line.deploy("desk", "--access", "pairing", "--id", "front")
        gateway = await line.up()
        told = await line.client.ask("when are you open?", user="dana")
        (code,) = re.findall(r"[2-9A-Z]{8}", told)
        silent = await line.client.say("when are you open?", user="dana")
        other = await line.client.ask("when are you open?", user="kim")
        assert code not in other
        assert await line.client.replies(chat=silent.chat, after=silent.after) == []
        waiting = await home.json("pairing", "list")
        assert sorted(p["name"] for p in waiting) == ["dana", "kim"]
        before = len(gateway.events("configuration_reloaded"))
        assert "dana" in (await home.run("pairing", "approve", f"{code[:4].lower()}-{code[4:]}"))[2]
        await line.seen(gateway, before)
        assert "nine to five" in await line.client.ask("when are you open?", user="dana")
        (deployed,) = [r for r in await home.json("route", "list") if r["id"] == "front"]
        assert deployed["allow"] == [silent.chat]
        code_, _, said = await home.run("pairing", "approve", code)
        assert (code_, "not_found" in said) == (1, True)
        await home.ok("pairing", "refuse", (await home.json("pairing", "list"))[0]["code"])
        assert await home.json("pairing", "list") == []
        before = len(gateway.events("configuration_reloaded"))
        await home.ok("pairing", "revoke", "--route", "front", "--sender", silent.chat)
        await line.seen(gateway, before)
        assert "code" in await line.client.ask("when are you open?", user="dana")
        assert await gateway.stop() == 0
