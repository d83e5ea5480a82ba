"""The wall clock jumps under a gateway: leases, retries and order are none of its business."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.test_gateways import each_once_and_in_order, numbers_heard
from tests.e2e.test_messages import echo, staged
from tests.support.gateway import Home
from tests.support.postgres import Server
from tests.support.scripted_model import Asked, Reply
from tests.torture.bent import Bent

HOURS = 3600
JUMPS = (2 * HOURS, -3 * HOURS, 0, -1, 400 * 24 * HOURS, 0)


@pytest.mark.parametrize("engine", ["embedded", "database"])
async def test_the_clock_jumps_while_messages_come(engine: str, home: Home, tmp_path: Path, postgres: Server) -> None:
    failed: set[str] = set()

    def script(asked: Asked) -> Reply:
        """Fails once for every third message, so that something waits to be tried again."""
        number = int(asked.last.split()[-1])
        if number % 3 == 0 and asked.last not in failed:
            failed.add(asked.last)
            return Reply(status=503)
        return echo(asked)

    with postgres.schema() as url:
        if engine == "database":
            home.env["POSTROOM_DATABASE_URL"] = url
        bent = Bent(home, tmp_path)
        async with staged("telegram", home, script) as stage, stage.up():
            count = 0
            for jump in JUMPS:
                for n in range(count, count + 10):
                    await stage.line.client.say(f"message {n}", user=f"user {n % 5}")
                await stage.line.stored(count + 5)
                bent.clock(jump)
                count += 10
                numbers = await numbers_heard(stage.line, count)
                assert each_once_and_in_order(numbers), numbers
            assert await home.json("ledger", "check") == []


async def test_a_gateway_that_starts_with_a_clock_set_back_goes_on(home: Home, tmp_path: Path) -> None:
    """What was written with the wrong time doesn't wait until that time has come."""
    entered = asyncio.Event()
    released = asyncio.Event()

    async def script(asked: Asked) -> Reply:
        entered.set()
        await released.wait()
        return echo(asked)

    bent = Bent(home, tmp_path)
    bent.clock(5 * HOURS)
    async with staged("telegram", home, script) as stage:
        async with stage.up():
            await stage.line.client.say("message 0", user="dana")
            await entered.wait()
            await stage.line.client.say("message 1", user="dana")
            await stage.line.stored(2)
        bent.clock(0)
        released.set()
        async with stage.up():
            await stage.line.client.say("message 2", user="dana")
            numbers = await numbers_heard(stage.line, 3)
            assert each_once_and_in_order(numbers), numbers
