"""What a newcomer notices of 10,000 conversations that wait: its own first answer, with and without them."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path

from bench.__main__ import exchange, gateway, slow_shop
from channels.rehearsal import RehearsalClient

WAITING = 10_000
NEWCOMERS = 10
MODEL_SECONDS = 3.0


async def main() -> None:
    """Measure newcomers on an idle gateway, then again behind a backlog."""
    with tempfile.TemporaryDirectory() as home:
        async with slow_shop(Path(home), MODEL_SECONDS) as (client, env), gateway(env):
            await exchange(client, "warm", 2)
            idle = await newcomers(client, "early")
            room = asyncio.Semaphore(50)
            await asyncio.gather(*(write(client, f"chat{n}", room) for n in range(WAITING)))
            behind = await newcomers(client, "late")
    print(f"first answer to a newcomer, p50 of {NEWCOMERS}, a model of {MODEL_SECONDS:.0f} s")
    print(f"idle {idle:.2f} s, behind {WAITING} waiting conversations {behind:.2f} s: {behind / idle:.2f}x")


async def newcomers(client: RehearsalClient, name: str) -> float:
    """The median seconds until somebody who writes for the first time is answered."""
    return statistics.median([(await exchange(client, f"{name}{n}", 1))[0] for n in range(NEWCOMERS)])


async def write(client: RehearsalClient, user: str, room: asyncio.Semaphore) -> None:
    """One message, for whose answer nobody waits."""
    async with room:
        await client.say("when are you open?", user=user)


if __name__ == "__main__":
    asyncio.run(main())
