"""Many messages, many people, and providers that fail now and then: each is answered once, and nothing grows."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter

import psutil
import pytest

from tests.e2e.line import SENDING
from tests.e2e.test_messages import echo, staged
from tests.support.gateway import Home

MESSAGES = int(os.environ.get("POSTROOM_SOAK", "2000"))
"""On each channel."""

PEOPLE = max(10, MESSAGES // 100)
AT_ONCE = 40
GROWTH = 1.05
"""How much memory may grow after the first half, when caches and the allocator have what they keep."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("channel", [name for name in SENDING if name != "pigeon"])
async def test_everything_is_answered_once_and_nothing_grows(channel: str, home: Home) -> None:
    limits = ("--sender-limit", "1000", "--connection-limit", "100000")
    async with staged(channel, home, echo, *limits) as stage, stage.up() as gateway:
        process = psutil.Process(gateway.pid)
        client, room = stage.line.client, asyncio.Semaphore(AT_ONCE)
        heard: Counter[int] = Counter()
        sizes: list[tuple[int, int]] = []
        after = 0

        async def say(n: int) -> None:
            async with room:
                if n % 100 == 99:
                    await client.fault(method=SENDING[channel], status=500, times=1)
                await client.say(f"message {n}.", user=f"user {n % PEOPLE}")

        async def listen(until: int) -> None:
            nonlocal after
            while len(heard) < until:
                replies = await client.replies(after=after, wait=60)
                assert replies, f"silence after {len(heard)} of {until}"
                after = replies[-1].n
                for reply in replies:
                    heard.update(int(number) for number in re.findall(r"message (\d+)\.", reply.text))

        quarter = MESSAGES // 4
        for begin in range(0, MESSAGES, quarter):
            numbers = range(begin, min(begin + quarter, MESSAGES))
            await asyncio.gather(listen(numbers[-1] + 1), *(say(n) for n in numbers))
            sizes.append((process.memory_info().rss, process.num_fds()))
        assert set(heard) == set(range(MESSAGES))
        assert set(heard.values()) == {1}
        print(channel, [f"{rss / 1e6:.0f} MB, {fds} handles" for rss, fds in sizes])  # noqa: T201
        assert max(rss for rss, _ in sizes[2:]) <= sizes[1][0] * GROWTH
        assert max(fds for _, fds in sizes[2:]) <= sizes[1][1] + AT_ONCE
        depths = await home.json("dead-letter", "list")
        assert depths == []
