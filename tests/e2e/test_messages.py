"""What Postroom holds to, end to end: a real process, the real client libraries, a rehearsed provider, on each channel.

The provider's own record is the witness, not our tables. `pigeon` is a channel that is no part of Postroom: it is
installed beside it, and holds to the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from channels.registry import names
from tests.e2e.line import SENDING, Line, open_line
from tests.support.gateway import GatewayProcess, Home
from tests.support.installed import PIGEON, install
from tests.support.scripted_model import Asked, Reply, ScriptedModel

LONG = "\n\n".join(
    [
        "## What to bring 🇳🇱",
        *(
            f"Paragraph {n}: the [map](https://example.com/a_(b)?n={n}) shows **gate {n}**, and _family_ 👨‍👩‍👧‍👦"
            f" tickets cost `{n}`. " + "More words follow here so that the paragraph is long enough to matter. " * 3
            for n in range(25)
        ),
        "```python\n" + "\n".join(f"print({n})  # a line in a fence" for n in range(60)) + "\n```",
        "- one\n- two\n  - nested",
        "The end 🏁.",
    ]
)


def echo(asked: Asked) -> Reply:
    """Answers each message with its own words, so that a reply shows what it answers."""
    return Reply(f"You said: {asked.last}")


@dataclass
class Stage:
    """Everything of one test: a channel's line, a scripted model, and a home to start gateways in."""

    line: Line
    model: ScriptedModel
    home: Home

    @asynccontextmanager
    async def up(self) -> AsyncIterator[GatewayProcess]:
        gateway = await self.line.up()
        try:
            yield gateway
        finally:
            await gateway.kill()


@asynccontextmanager
async def staged(channel: str, home: Home, script, *options: str) -> AsyncIterator[Stage]:
    async with ScriptedModel(script) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        home.agent("desk", "Answer.")
        async with open_line(channel, home, *options) as line:
            await line.deploy("desk")
            yield Stage(line, model, home)


every_channel = pytest.mark.parametrize("channel", list(SENDING))


@pytest.fixture(autouse=True)
def installed(channel, home, tmp_path, monkeypatch):
    """The pigeon channel, for its own tests."""
    if channel == "pigeon":
        home.env["PYTHONPATH"] = f"{install(PIGEON, tmp_path / 'site', monkeypatch)}:{home.env.get('PYTHONPATH', '')}"
    assert channel in names()


@every_channel
async def test_a_message_is_answered_by_its_agent(channel, home):
    home.fresh = True
    async with staged(channel, home, echo) as stage, stage.up():
        assert await stage.line.client.ask("hello there", user="dana") == "You said: hello there"


@every_channel
async def test_killed_with_twenty_messages_in_flight_it_answers_each_once_and_in_order(channel, home):
    released = asyncio.Event()

    async def script(asked: Asked) -> Reply:
        await released.wait()
        return echo(asked)

    async with staged(channel, home, script) as stage:
        async with stage.up() as gateway:
            said = [await stage.line.client.say(f"message {n}", user=f"user {n % 10}") for n in range(20)]
            await stage.line.stored(20)
            await gateway.kill()
        released.set()
        async with stage.up():
            texts = await heard_until(stage.line, [f"message {n}" for n in range(20)])
        for chat in {s.chat for s in said}:
            numbers = [int(n) for n in re.findall(r"message (\d+)", "\n".join(texts[chat]))]
            assert numbers == sorted(set(numbers)), f"answered twice or out of order: {texts[chat]}"


@every_channel
async def test_the_same_event_twice_is_answered_once(channel, home):
    async with staged(channel, home, echo) as stage, stage.up():
        await stage.line.client.fault(duplicate=True)
        assert await stage.line.client.ask("only once", user="dana") == "You said: only once"
        assert await stage.line.client.ask("and on", user="dana") == "You said: and on"
        assert len(stage.model.requests) == 2


@every_channel
@pytest.mark.parametrize(
    "fault",
    [{"status": 429, "times": 6, "retry_after": 0.01}, {"status": 500, "times": 4}, {"drop": "before", "times": 2}],
    ids=["429 six times", "500 four times", "no answer twice"],
)
async def test_a_provider_on_a_bad_day_delays_an_answer_and_loses_none(channel, home, fault):
    async with staged(channel, home, echo) as stage, stage.up():
        await stage.line.client.fault(method=SENDING[channel], **fault)
        assert await stage.line.client.ask("still there?", user="dana") == "You said: still there?"


@every_channel
async def test_a_long_reply_arrives_whole_in_valid_pieces(channel, home):
    async with staged(channel, home, [Reply(LONG)]) as stage, stage.up():
        said = await stage.line.client.say("tell me all", user="dana")
        heard = await stage.line.until(said, lambda text: "The end" in text)
        text = "\n".join(piece.text for piece in heard)
        assert len(heard) > 1
        for n in range(25):
            assert f"gate {n}" in text
        for n in range(60):
            assert f"print({n})" in text
        assert text.count("👨‍👩‍👧‍👦") == 25
        refused = [c for c in await stage.line.client.record() if c["status"] >= 400]
        assert refused == []


@every_channel
async def test_messages_of_a_burst_are_answered_in_order_and_none_is_dropped(channel, home):
    first, entered = asyncio.Event(), asyncio.Event()

    async def script(asked: Asked) -> Reply:
        entered.set()
        await first.wait()
        return echo(asked)

    async with staged(channel, home, script) as stage, stage.up():
        await stage.line.client.say("one", user="dana")
        await entered.wait()
        for word in ("two", "three", "four"):
            await stage.line.client.say(word, user="dana")
        await stage.line.stored(4)
        first.set()
        texts = await heard_until(stage.line, ["one", "two", "three", "four"])
        (replies,) = texts.values()
        read = ["\n".join(line.rstrip() for line in reply.split("\n")) for reply in replies]
        assert read == ["You said: one", "You said: two\nthree\nfour"]
        assert len(stage.model.requests) == 2


@every_channel
async def test_a_slow_conversation_holds_up_no_other(channel, home):
    never = asyncio.Event()

    async def script(asked: Asked) -> Reply:
        if "slow" in asked.last:
            await never.wait()
        return echo(asked)

    async with staged(channel, home, script) as stage, stage.up():
        await stage.line.client.say("slow", user="sam")
        assert await stage.line.client.ask("quick", user="dana") == "You said: quick"
        never.set()


@every_channel
async def test_a_model_that_stays_down_is_reported_in_one_sentence_and_can_be_retried(channel, home):
    down = True

    def script(asked: Asked) -> Reply:
        return Reply(status=400, message="no such model") if down else echo(asked)

    async with staged(channel, home, script) as stage, stage.up():
        assert "can't answer right now" in await stage.line.client.ask("hello", user="dana")
        (letter,) = await home.json("dead-letter", "list")
        assert letter["kind"] == "turn"
        down = False
        after = await stage.line.client.replies()
        await home.ok("dead-letter", "retry", letter["id"])
        (again,) = await stage.line.client.replies(after=after[-1].n, wait=30)
        assert again.text == "You said: hello"
        assert await home.json("dead-letter", "list") == []


async def heard_until(line: Line, words: list[str]) -> dict[str, list[str]]:
    """What the bot said by chat, once every one of the words was heard."""
    texts: dict[str, list[str]] = {}
    after = 0
    while any(not re.search(rf"\b{word}\b", "\n".join(t for ts in texts.values() for t in ts)) for word in words):
        heard = await line.client.replies(after=after, wait=30)
        assert heard, f"silence; so far: {texts}"
        for reply in heard:
            texts.setdefault(reply.chat, []).append(reply.text)
        after = heard[-1].n
    return texts
