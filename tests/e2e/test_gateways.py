"""Several gateways on one PostgreSQL ledger, and the database failing under them. The provider's record is witness."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from gateway.vault import new_key
from tests.e2e.line import Line, open_line
from tests.support.gateway import GatewayProcess, Home
from tests.support.postgres import Server, running_server
from tests.support.scripted_model import Asked, Reply, ScriptedModel


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    with postgres.schema() as url:
        yield url


def echo(asked: Asked) -> Reply:
    return Reply(f"You said: {asked.last}")


@asynccontextmanager
async def staged(channel: str, home: Home, database: str, script) -> AsyncIterator[Line]:
    home.env["POSTROOM_DATABASE_URL"] = database
    async with ScriptedModel(script) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        home.agent("desk", "Answer.")
        async with open_line(channel, home) as line:
            await line.deploy("desk")
            yield line


@asynccontextmanager
async def two(line: Line) -> AsyncIterator[list[GatewayProcess]]:
    """Two gateways; webhooks go to the first."""
    gateways = [await line.up(), await line.home.up()]
    try:
        yield gateways
    finally:
        for gateway in gateways:
            await gateway.kill()


async def listener(database: str, gateways: list[GatewayProcess], other_than: str = "") -> tuple[str, GatewayProcess]:
    """Who listens on Telegram, once somebody does."""
    async with asyncio.timeout(30), await psycopg.AsyncConnection.connect(database, autocommit=True) as db:
        while True:
            row = await (await db.execute("SELECT owner FROM holds WHERE name = 'receive telegram'")).fetchone()
            if row and row[0] != other_than:
                (who,) = [g for g in gateways if f"-{g.pid}-" in row[0]]
                return row[0], who
            await asyncio.sleep(0.1)


async def numbers_heard(line: Line, count: int) -> dict[str, list[int]]:
    """The numbers that were answered in each chat, in order, once there are so many."""
    texts: dict[str, list[str]] = {}
    after, numbers = 0, dict[str, list[int]]()
    while sum(map(len, numbers.values())) < count:
        heard = await line.client.replies(after=after, wait=30)
        assert heard, f"silence after {numbers}"
        for piece in heard:
            texts.setdefault(piece.chat, []).append(piece.text)
        after = heard[-1].n
        numbers = {chat: [int(n) for n in re.findall(r"message (\d+)", "\n".join(t))] for chat, t in texts.items()}
    return numbers


def each_once_and_in_order(numbers: dict[str, list[int]]) -> bool:
    return all(found == sorted(set(found)) for found in numbers.values())


async def test_when_the_listening_gateway_is_killed_the_other_takes_everything_over(home, database):
    released = asyncio.Event()

    async def script(asked: Asked) -> Reply:
        await released.wait()
        return echo(asked)

    async with staged("telegram", home, database, script) as line, two(line) as gateways:
        owner, listening = await listener(database, gateways)
        for n in range(10):
            await line.client.say(f"message {n}", user=f"user {n % 5}")
        await line.stored(10)
        await listening.kill()
        released.set()
        await listener(database, gateways, other_than=owner)
        for n in range(10, 20):
            await line.client.say(f"message {n}", user=f"user {n % 5}")
        numbers = await numbers_heard(line, 20)
        assert each_once_and_in_order(numbers), numbers


async def test_a_gateway_that_slept_past_its_leases_changes_nothing_when_it_wakes(home, database):
    entered, released = asyncio.Event(), asyncio.Event()

    async def script(asked: Asked) -> Reply:
        entered.set()
        await released.wait()
        return echo(asked)

    async with staged("telegram", home, database, script) as line, two(line) as gateways:
        owner, listening = await listener(database, gateways)
        await line.client.say("message 0", user="dana")
        await entered.wait()
        listening.signal(signal.SIGSTOP)
        await listener(database, gateways, other_than=owner)
        released.set()
        await line.client.say("message 1", user="dana")
        numbers = await numbers_heard(line, 2)
        listening.signal(signal.SIGCONT)
        await line.client.say("message 2", user="dana")
        after = await numbers_heard(line, 3)
        assert each_once_and_in_order(numbers), numbers
        assert each_once_and_in_order(after), after


async def test_the_database_is_stopped_in_the_middle_and_nothing_is_lost(home):
    with running_server() as server, server.schema() as database:
        async with staged("telegram", home, database, echo) as line, two(line):
            for n in range(5):
                await line.client.say(f"message {n}", user=f"user {n % 2}")
            assert each_once_and_in_order(await numbers_heard(line, 2))
            server.stop()
            for n in range(5, 10):
                await line.client.say(f"message {n}", user=f"user {n % 2}")
            server.start()
            numbers = await numbers_heard(line, 10)
            assert each_once_and_in_order(numbers), numbers


async def test_a_webhook_is_told_to_come_again_while_the_database_is_away(home):
    with running_server() as server, server.schema() as database:
        async with staged("slack", home, database, echo) as line, two(line):
            assert await line.client.ask("message 0", user="dana") == "You said: message 0"
            server.stop()
            said = await line.client.say("message 1", user="dana")
            server.start()
            assert await line.until(said, lambda text: "message 1" in text)


async def test_a_route_changed_beside_them_is_seen_by_all(home, database):
    async with staged("telegram", home, database, echo) as line, two(line) as gateways:
        assert await line.client.ask("hello", user="dana") == "You said: hello"
        home.agent("other", "Answer otherwise.")
        before = [len(g.events("configuration_reloaded")) for g in gateways]
        await line.deploy("other", "--disable-conflicting")
        async with asyncio.timeout(10):
            while any(len(g.events("configuration_reloaded")) == n for g, n in zip(gateways, before, strict=True)):
                await asyncio.sleep(0.05)


async def test_an_agent_published_once_answers_everywhere_with_one_state(home, database):
    """Two gateways that share nothing but the database: the second has no agents of its own."""

    def script(asked: Asked) -> Reply:
        begin = max(n for n, (role, _) in enumerate(asked.said) if role == "user")
        results = [text for role, text in asked.said[begin:] if role == "tool"]
        words = asked.said[begin][1]
        if words == "all of it":
            return Reply(results[-1]) if results else Reply(calls=(("read", {"path": "state/notes.md"}),))
        if not results or results[-1].startswith("Error"):
            new = f"{words.split()[-1]} end"
            return Reply(calls=(("edit_file", {"path": "state/notes.md", "old": "end", "new": new}),))
        return Reply(f"You said: {words}")

    home.env["POSTROOM_KEY"] = new_key()
    async with staged("telegram", home, database, script) as line:
        folder = home.agent("desk", "Answer.", stateScope="agent", allowedTools=["read", "edit_file"])
        (folder / "state/notes.md").write_text("end")
        await home.ok("agent", "publish", "desk")
        elsewhere = Home(home.path.with_name("elsewhere"), {k: v for k, v in home.env.items() if k != "POSTROOM_HOME"})
        gateways = [await line.up(), await elsewhere.up()]
        try:
            count = 0
            while not all(gateway.events("message_ended") for gateway in gateways):
                assert count < 120, "one of them never has work"
                for n in range(count, count + 12):
                    await line.client.say(f"message {n}", user=f"user {n}")
                count += 12
                numbers = await numbers_heard(line, count)
                assert each_once_and_in_order(numbers), numbers
            answer = await line.client.ask("all of it", user="dana")
            assert sorted(int(n) for n in answer.split()[:-1]) == list(range(count)), answer
            (row,) = [a for a in await elsewhere.json("agent", "list") if a["id"] == "desk"]
            assert row["source"] == "published"
            home.agent("desk", "Answer otherwise.", stateScope="agent", allowedTools=["read"], label="Second")
            assert await line.client.ask("once more 99", user="dana") == "You said: once more 99"
            await home.ok("agent", "publish", "desk")
            async with asyncio.timeout(10):
                while [a["label"] for a in await elsewhere.json("agent", "list") if a["id"] == "desk"] != ["Second"]:
                    await asyncio.sleep(0.1)
        finally:
            for gateway in gateways:
                await gateway.kill()
