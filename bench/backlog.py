"""What a newcomer notices of 10,000 conversations that wait: its own first answer, with and without them."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from bench.__main__ import ADD, POSTROOM, TOKEN, answering, command, exchange, free_port, rehearsal, running
from channels.rehearsal import RehearsalClient

WAITING = 10_000
NEWCOMERS = 10
MODEL_SECONDS = 3.0


async def main() -> None:
    """Measure newcomers on an idle gateway, then again behind a backlog."""
    async with AsyncExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        model_port, port = free_port(), free_port()
        await stack.enter_async_context(
            running([sys.executable, "-m", "bench.model", str(model_port), str(MODEL_SECONDS)])
        )
        client, base_url = await stack.enter_async_context(rehearsal())
        env = {
            **os.environ,
            "POSTROOM_HOME": str(Path(home)),
            "POSTROOM_MODEL": "openai-chat:slow",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
            "BENCH_TOKEN": TOKEN,
        }
        await command(env, *ADD, base_url)
        await command(env, "route", "deploy", "--connection", "shop", "--agent", "front-desk")
        await stack.enter_async_context(running([str(POSTROOM), "up", "--port", str(port)], env))
        await answering(port, "/readyz")
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
