"""One gateway and two on the same PostgreSQL ledger, in one run: how far a second one goes when models are slow."""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from bench.__main__ import exchange, gateway, slow_shop
from tests.support.postgres import running_server

CHATS = 300
MODEL_SECONDS = 3.0
"""How long the model takes: a gateway answers 64 conversations at once, so this is what bounds one."""


async def main() -> None:
    """Let every chat write once, all at the same time, to one gateway and then to two."""
    one, two = [await measure(gateways) for gateways in (1, 2)]
    print(f"{CHATS} chats at once, a model of {MODEL_SECONDS:.0f} s, answers per second")
    print(f"one gateway {one:.1f}, two gateways {two:.1f}: {two / one:.2f}x")


async def measure(gateways: int) -> float:
    """Answers per second with so many gateways."""
    with running_server() as server, server.schema() as url, tempfile.TemporaryDirectory() as home:
        async with AsyncExitStack() as stack:
            shop = slow_shop(Path(home), MODEL_SECONDS, POSTROOM_DATABASE_URL=url)
            client, env = await stack.enter_async_context(shop)
            for _ in range(gateways):
                await stack.enter_async_context(gateway(env))
            await asyncio.gather(*(exchange(client, f"warm{n}", 1) for n in range(8)))
            started = time.perf_counter()
            await asyncio.gather(*(exchange(client, f"chat{n}", 1) for n in range(CHATS)))
            return CHATS / (time.perf_counter() - started)


if __name__ == "__main__":
    asyncio.run(main())
