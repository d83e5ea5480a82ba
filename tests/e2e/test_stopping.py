"""Stopping: what runs is finished, what arrives meanwhile is kept, and a start takes it up."""

from __future__ import annotations

import asyncio
import signal

from tests.e2e.line import open_line
from tests.support.scripted_model import Reply, ScriptedModel


async def test_a_stopping_gateway_finishes_what_runs_and_keeps_what_arrives(home):
    release = asyncio.Event()

    async def script(asked):
        await release.wait()
        return Reply(f"You said: {asked.last}")

    async with ScriptedModel(script) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        home.agent("desk")
        async with open_line("telegram", home, "--mode", "webhook") as line:
            await line.deploy("desk")
            gateway = await line.up()
            async with asyncio.timeout(30):
                while not [c for c in await line.client.record() if c["method"] == "setWebhook"]:
                    await asyncio.sleep(0.05)
            first = await line.client.say("before the stop", user="dana")
            async with asyncio.timeout(30):
                await model.arrived.wait()
            gateway.signal(signal.SIGTERM)
            async with asyncio.timeout(30):
                while not gateway.events("draining"):
                    await asyncio.sleep(0.02)
            later = await line.client.say("during the stop", user="sam")
            await line.stored(2)
            release.set()
            (answer,) = await line.client.replies(chat=first.chat, wait=30)
            assert answer.text == "You said: before the stop"
            assert await gateway.stop() == 0
            assert await line.client.replies(chat=later.chat) == []
            again = await line.up()
            (answer,) = await line.client.replies(chat=later.chat, wait=30)
            assert answer.text == "You said: during the stop"
            assert await again.stop() == 0


async def test_a_stop_that_is_cut_short_loses_nothing(home):
    never = asyncio.Event()
    count = 0

    async def script(asked):
        nonlocal count
        count += 1
        if count == 1:
            await never.wait()
        return Reply(f"You said: {asked.last}")

    async with ScriptedModel(script) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        home.agent("desk")
        async with open_line("telegram", home) as line:
            await line.deploy("desk")
            gateway = await line.up()
            said = await line.client.say("hello", user="dana")
            async with asyncio.timeout(30):
                await model.arrived.wait()
            gateway.signal(signal.SIGTERM)
            await gateway.kill()
            again = await line.up()
            (answer,) = await line.client.replies(chat=said.chat, wait=30)
            assert answer.text == "You said: hello"
            assert await again.stop() == 0
