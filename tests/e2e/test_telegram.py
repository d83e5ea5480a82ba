"""What is Telegram's own, end to end: groups, albums, buttons, migration, typing, live changes."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import asynccontextmanager

import pytest

from tests.e2e.line import Line, open_line
from tests.support.gateway import Home
from tests.support.scripted_model import Reply, ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


@asynccontextmanager
async def running(home: Home, script, *route: str, **manifest):
    async with ScriptedModel(script) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        home.agent("desk", "Answer.", **manifest)
        async with open_line("telegram", home) as line:
            await line.deploy("desk", *route)
            gateway = await line.up()
            try:
                yield line, model
            finally:
                assert await gateway.stop() == 0


def echo(asked):
    return Reply(f"You said: {asked.last}")


async def reasons(line: Line, count: int) -> dict[str, str]:
    """Text → how it ended, once so many messages ended."""
    async with asyncio.timeout(30):
        while True:
            rows = await line.home.json("conversation", "list")
            shown = [await line.home.json("conversation", "show", row["key"]) for row in rows]
            ended = {m["text"]: m["reason"] or m["state"] for s in shown for m in s["messages"]}
            if len([e for e in ended.values() if e not in ("waiting", "claimed")]) >= count:
                return ended
            await asyncio.sleep(0.05)


async def test_in_a_group_it_answers_when_spoken_to_and_not_otherwise(home):
    async with running(home, echo) as (line, model):
        await line.client.say("just chatting", user="dana", chat="club", kind="supergroup")
        answer = await line.client.ask("@rehearsal_bot hello", user="dana", chat="club", kind="supergroup")
        assert "@rehearsal_bot hello" in answer
        ended = await reasons(line, 2)
        assert ended["just chatting"] == "mention_required"
        assert len(model.requests) == 1


async def test_a_stranger_gets_one_polite_sentence_and_costs_no_model_call(home):
    async with running(home, echo, "--access", "allowlist", "--allow", "1") as (line, model):
        assert "only answers people it knows" in await line.client.ask("hello", user="eve")
        await line.client.say("hello?", user="eve")
        ended = await reasons(line, 2)
        assert ended == {"hello": "not_allowed", "hello?": "not_allowed"}
        assert model.requests == []
        sent = [c for c in await line.client.record() if c["method"] == "sendMessage"]
        assert len(sent) == 1


async def test_an_album_is_one_turn_with_every_picture(home):
    picture = {"kind": "photo", "base64": base64.b64encode(PNG).decode(), "name": "a.png"}
    async with running(home, echo, allowedTools=["read"]) as (line, model):
        answer = await line.client.ask("three pictures", user="dana", files=[picture] * 3)
        assert answer.count("image/png") == 3
        assert "three pictures" in answer
        assert len(model.requests) == 1


async def test_a_run_that_used_all_its_steps_offers_to_go_on_once(home):
    loops = [Reply(calls=(("list_files", {}),)) for _ in range(10)]
    script = [*loops, Reply("Done now.")]
    async with running(home, script, allowedTools=["list_files"], maxTurns=10) as (line, model):
        said = await line.client.say("count everything", user="dana")
        (stopped,) = await line.client.replies(chat=said.chat, after=said.after, wait=30)
        assert stopped.text == "Stopped after 10 steps."
        assert [b["text"] for b in stopped.buttons] == ["Continue"]
        pressed = await line.client.say(user="dana", press="Continue")
        (answer,) = await line.client.replies(chat=said.chat, after=pressed.after, wait=30)
        assert answer.text == "Done now."
        assert model.requests[-1].last == "continue"
        async with asyncio.timeout(30):
            while not {"answerCallbackQuery", "editMessageReplyMarkup"} <= {
                c["method"] for c in await line.client.record()
            }:
                await asyncio.sleep(0.05)
        with pytest.raises(ValueError, match="no button"):
            await line.client.say(user="dana", press="Continue")


async def test_a_group_that_becomes_a_supergroup_takes_its_conversation_along(home):
    release = asyncio.Event()

    async def script(asked):
        await release.wait()
        return echo(asked)

    async with running(home, script) as (line, model):
        await line.client.say("@rehearsal_bot before", user="dana", chat="club", kind="group")
        async with asyncio.timeout(30):
            await model.arrived.wait()
        moved = await line.client.say(chat="club", kind="group", migrate=True)
        async with asyncio.timeout(30):
            while [r["key"] for r in await line.home.json("conversation", "list")] != [f"telegram/{moved.chat}"]:
                await asyncio.sleep(0.05)
        release.set()
        (answer,) = await line.client.replies(chat=moved.chat, wait=30)
        assert "before" in answer.text
        assert {row["key"] for row in await line.home.json("conversation", "list")} == {f"telegram/{moved.chat}"}


async def test_typing_is_shown_while_a_run_takes_its_time(home):
    release = asyncio.Event()

    async def script(asked):
        await release.wait()
        return echo(asked)

    async with running(home, script) as (line, _model):
        said = await line.client.say("think hard", user="dana")
        async with asyncio.timeout(30):
            while "sendChatAction" not in {c["method"] for c in await line.client.record()}:
                await asyncio.sleep(0.05)
        release.set()
        assert await line.client.replies(chat=said.chat, after=said.after, wait=30)


async def test_an_edited_skill_a_new_route_and_a_draft_are_followed_without_a_restart(home):
    async with running(home, echo) as (line, model):
        await line.client.ask("one", user="dana")
        skill = home.path / "agents" / "desk" / "skills" / "desk" / "SKILL.md"
        skill.write_text(skill.read_text() + "\nMention the weather.\n")
        await line.client.ask("two", user="dana")
        assert "Mention the weather." in model.requests[-1].system
        assert "Mention the weather." not in model.requests[0].system
        home.agent("other", "Be someone else.")
        await line.deploy("other", "--disable-conflicting")
        async with asyncio.timeout(30):
            number = 0
            while "someone else" not in model.requests[-1].system:
                number += 1
                await line.client.ask(f"again {number}", user="dana")
        manifest = home.path / "agents" / "other" / "agent.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "status": "draft"}))
        await line.client.say("to a draft", user="dana")
        ended = await reasons(line, 1)
        async with asyncio.timeout(30):
            while ended.get("to a draft") in (None, "waiting", "claimed"):
                ended = await reasons(line, 1)
        assert ended["to a draft"] == "agent_not_production"


async def test_what_was_said_before_is_seen_again_after_a_restart(home):
    async with ScriptedModel(echo) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        home.agent("desk")
        async with open_line("telegram", home) as line:
            await line.deploy("desk")
            first = await line.up()
            await line.client.ask("my name is Dana", user="dana")
            assert await first.stop() == 0
            second = await line.up()
            await line.client.ask("what is my name?", user="dana")
            assert ("user", "my name is Dana") in model.requests[-1].said
            assert await second.stop() == 0
