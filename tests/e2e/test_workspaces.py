"""One Slack app in two workspaces, end to end: added by the command line, answered in each, lost in one."""

from __future__ import annotations

import asyncio

from channels.rehearsal import RehearsalClient
from channels.slack.rehearsal import SlackRehearsal
from tests.support.gateway import Home

OPEN = "when are you open?"


async def test_two_workspaces_on_one_connection(tmp_path):
    home = Home(tmp_path / "home", {"POSTROOM_MODEL": "extractive"})
    async with SlackRehearsal(more_teams=("cafe",)) as server, RehearsalClient(server.url) as people:
        here, there = (w.bot_token for w in server.workspaces)
        home.env |= {"HERE": here, "THERE": there, "APP": server.app_token}
        tokens = ("--bot-token-env", "HERE", "--bot-token-env", "THERE", "--app-token-env", "APP")
        await home.ok("connection", "add", "slack", "--id", "team", *tokens, "--base-url", server.base_url)
        (checked,) = await home.json("connection", "check", "team")
        assert (checked["ok"], checked["account"].count("@rehearsal_bot")) == (True, 2)
        await home.ok("route", "deploy", "--connection", "team", "--agent", "front-desk", "--scope", "dm")
        gateway = await home.up()
        try:
            answers = [await people.ask(OPEN, user="ann"), await people.ask(OPEN, user="ann", workspace="cafe")]
            assert answers[0] == answers[1] != ""
            keys = [c["key"] for c in await home.json("conversation", "list")]
            team_id = server.workspaces[1].world.team_id
            assert sorted(key.startswith(f"team/{team_id}:D") for key in keys) == [False, True]

            await people.say(uninstall=True, workspace="cafe")
            async with asyncio.timeout(20):
                while (row := (await home.json("connection", "list"))[0])["status"] != "needs_attention":
                    await asyncio.sleep(0.05)
            assert "cafe" in row["detail"]
            assert await people.ask(OPEN, user="bea") == answers[0], "the other workspace is served as before"
        finally:
            await gateway.stop()
    assert not any(here in str(line) or there in str(line) for line in gateway.log)


async def test_a_variable_may_hold_several_tokens_and_one_that_is_missing_is_named(tmp_path):
    home = Home(tmp_path / "home", {"BOTH": "xoxb-1, xoxb-2", "APP": "xapp-1"})
    code, _, err = await home.run(
        "connection", "add", "slack", "--id", "team", "--bot-token-env", "BOTH", "--bot-token-env", "GONE"
    )
    assert (code, "GONE" in err) == (1, True)
    add = ("connection", "add", "slack", "--id", "team", "--app-token-env", "APP")
    await home.ok(*add, "--bot-token-env", "BOTH")
    assert (await home.json("connection", "show", "team"))["hasBotToken"] is True
    code, _, err = await home.run(*add)
    assert (code, "--bot-token-env" in err) == (1, True)
