"""The network between one gateway and the database is cut, and comes back. Needs root, for namespaces of its own."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.line import open_line
from tests.e2e.test_gateways import each_once_and_in_order, echo, listener, numbers_heard
from tests.support.gateway import Home
from tests.support.postgres import running_server
from tests.support.scripted_model import Asked, Reply, ScriptedModel

SPACE = "postroom-db"
HOSTS = ("10.77.1.2", "10.77.2.2")
"""Where the two gateways find the database, each over a link of its own."""


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=10)


@pytest.fixture
def links() -> Iterator[tuple[str, str]]:
    """The two links into the database's namespace, by the name they have out here."""
    ip("netns", "add", SPACE)
    try:
        names = ("prdb1", "prdb2")
        for n, name in enumerate(names, 1):
            ip("link", "add", name, "type", "veth", "peer", "name", f"{name}p", "netns", SPACE)
            ip("addr", "add", f"10.77.{n}.1/24", "dev", name)
            ip("link", "set", name, "up")
            ip("-n", SPACE, "addr", "add", f"10.77.{n}.2/24", "dev", f"{name}p")
            ip("-n", SPACE, "link", "set", f"{name}p", "up")
        ip("-n", SPACE, "link", "set", "lo", "up")
        yield names
    finally:
        ip("netns", "del", SPACE)


@contextmanager
def cut(link: str) -> Iterator[None]:
    """Everything sent on a link is lost, without a word to anybody."""
    ip("-n", SPACE, "link", "set", f"{link}p", "down")
    try:
        yield
    finally:
        ip("-n", SPACE, "link", "set", f"{link}p", "up")


async def test_the_listening_gateway_is_cut_off_in_the_middle_and_comes_back(home: Home, links) -> None:
    released = asyncio.Event()

    async def script(asked: Asked) -> Reply:
        await released.wait()
        return echo(asked)

    with running_server(SPACE) as server:
        name = "torture"
        with_schema = [server.url(name, host) for host in HOSTS]
        await asyncio.to_thread(make_schema, server.url("public", HOSTS[0]), name)
        async with ScriptedModel(script) as model:
            home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
            home.agent("desk", "Answer.")
            home.env["POSTROOM_DATABASE_URL"] = with_schema[0]
            async with open_line("telegram", home) as line:
                await line.deploy("desk")
                gateways = []
                try:
                    for url in with_schema:
                        home.env["POSTROOM_DATABASE_URL"] = url
                        gateways.append(await home.up())
                    owner, listening = await listener(with_schema[1], gateways)
                    for n in range(10):
                        await line.client.say(f"message {n}", user=f"user {n % 5}")
                    await line.stored(10)
                    with cut(links[gateways.index(listening)]):
                        home.env["POSTROOM_DATABASE_URL"] = with_schema[1 - gateways.index(listening)]
                        await listener(home.env["POSTROOM_DATABASE_URL"], gateways, other_than=owner)
                        released.set()
                        for n in range(10, 20):
                            await line.client.say(f"message {n}", user=f"user {n % 5}")
                        numbers = await numbers_heard(line, 20)
                        assert each_once_and_in_order(numbers), numbers
                    for n in range(20, 25):
                        await line.client.say(f"message {n}", user=f"user {n % 5}")
                    numbers = await numbers_heard(line, 25)
                    assert each_once_and_in_order(numbers), numbers
                    await asyncio.sleep(15)  # for whatever the gateway that was cut off might still say
                    assert await numbers_heard(line, 25) == numbers
                finally:
                    for gateway in gateways:
                        await gateway.kill()


def make_schema(url: str, name: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]
