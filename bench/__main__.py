"""`make bench`: overhead, throughput, start and memory, beside a bare loop of the same client libraries in one run."""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import psutil

from channels.rehearsal import RehearsalClient

CHATS, MESSAGES, LONE = 50, 500, 100
TOKEN = "1000000001:" + "b" * 35
ADD = (
    *("connection", "add", "telegram", "--id", "shop", "--token-env", "BENCH_TOKEN"),
    *("--sender-limit", "1000", "--connection-limit", "100000", "--base-url"),
)
"""The connection of every measurement, without the brakes on a flood; its address follows."""
POSTROOM = Path(sys.executable).parent / "postroom"


async def main() -> None:
    """Measure the bare loop and Postroom in turn, and print them side by side."""
    with tempfile.TemporaryDirectory() as folder:
        model_port = free_port()
        async with running([sys.executable, "-m", "bench.model", str(model_port)]):
            await answering(model_port)
            model_url = f"http://127.0.0.1:{model_port}/v1"
            bare = await measure_bare(model_url)
            ours, ready, idle = await measure_postroom(Path(folder), model_url)
    row = "{:<44}{:>14}{:>14}{:>10}"
    print(row.format("", "bare loop", "Postroom", ""))
    overhead = ours.p50 - bare.p50
    print(row.format("answer to a lone message, p50, ms", f"{bare.p50:.1f}", f"{ours.p50:.1f}", f"{overhead:+.1f}"))
    ratio = ours.rate / bare.rate
    print(
        row.format(
            f"{MESSAGES} messages, {CHATS} chats, per second", f"{bare.rate:.0f}", f"{ours.rate:.0f}", f"{ratio:.2f}x"
        )
    )
    print(row.format("ready after start, s", "", f"{ready:.2f}", ""))
    print(row.format("memory idle, MB", "", f"{idle:.0f}", ""))
    print(row.format("memory after the load, MB", "", f"{ours.memory:.0f}", ""))


class Measured:
    """What one contender did."""

    def __init__(self, p50: float, rate: float, memory: float) -> None:
        self.p50 = p50
        self.rate = rate
        self.memory = memory


async def measure_bare(model_url: str) -> Measured:
    """The baseline, against a rehearsal server of its own."""
    async with (
        rehearsal() as (client, base_url),
        running([sys.executable, "-m", "bench.bare", base_url, TOKEN, model_url]) as process,
    ):
        return await load(client, process)


async def measure_postroom(home: Path, model_url: str) -> tuple[Measured, float, float]:
    """Postroom, against a rehearsal server of its own; also seconds until ready and idle MB."""
    env = {
        **os.environ,
        "POSTROOM_HOME": str(home),
        "POSTROOM_MODEL": "openai-chat:instant",
        "OPENAI_BASE_URL": model_url,
        "BENCH_TOKEN": TOKEN,
    }
    async with rehearsal() as (client, base_url):
        await command(env, *ADD, base_url)
        await command(env, "route", "deploy", "--connection", "shop", "--agent", "front-desk")
        port, started = free_port(), time.perf_counter()
        async with running([str(POSTROOM), "up", "--port", str(port)], env) as process:
            await answering(port, "/readyz")
            ready = time.perf_counter() - started
            await asyncio.sleep(3)  # idle means idle: whatever is loaded after the start has been
            idle = psutil.Process(process.pid).memory_info().rss / 1e6
            return await load(client, process), ready, idle


async def load(client: RehearsalClient, process: asyncio.subprocess.Process) -> Measured:
    """Lone messages one after the other, then every chat at once, each waiting for its answer before writing on."""
    await exchange(client, "warm", 3)
    lone = await exchange(client, "lone", LONE)
    started = time.perf_counter()
    await asyncio.gather(*(exchange(client, f"chat{n}", MESSAGES // CHATS) for n in range(CHATS)))
    rate = MESSAGES / (time.perf_counter() - started)
    memory = psutil.Process(process.pid).memory_info().rss / 1e6
    return Measured(statistics.median(lone) * 1000, rate, memory)


async def exchange(client: RehearsalClient, user: str, count: int) -> list[float]:
    """Write `count` messages as one user, waiting for each answer; the seconds each took."""
    seconds = []
    for n in range(count):
        started = time.perf_counter()
        said = await client.say(f"when are you open? {n}", user=user)
        if not await client.replies(chat=said.chat, after=said.after, wait=60):
            raise TimeoutError(f"{user} got no answer to message {n}")
        seconds.append(time.perf_counter() - started)
    return seconds


@asynccontextmanager
async def slow_shop(home: Path, seconds: float, **more: str) -> AsyncIterator[tuple[RehearsalClient, dict[str, str]]]:
    """A home with its connection and route, a model that takes `seconds`, and the environment for gateways on them."""
    port = free_port()
    async with (
        running([sys.executable, "-m", "bench.model", str(port), str(seconds)]),
        rehearsal() as (client, base_url),
    ):
        await answering(port)
        env = {
            **os.environ,
            "POSTROOM_HOME": str(home),
            "POSTROOM_MODEL": "openai-chat:slow",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "BENCH_TOKEN": TOKEN,
            **more,
        }
        await command(env, *ADD, base_url)
        await command(env, "route", "deploy", "--connection", "shop", "--agent", "front-desk")
        yield client, env


@asynccontextmanager
async def gateway(env: dict[str, str]) -> AsyncIterator[None]:
    """A gateway that is ready."""
    port = free_port()
    async with running([str(POSTROOM), "up", "--port", str(port)], env):
        await answering(port, "/readyz")
        yield


@asynccontextmanager
async def rehearsal() -> AsyncIterator[tuple[RehearsalClient, str]]:
    """A rehearsal server in a process of its own."""
    port = free_port()
    arguments = ["-m", "channels.telegram.rehearsal", "--port", str(port), "--token", TOKEN]
    async with running([sys.executable, *arguments]), RehearsalClient(f"http://127.0.0.1:{port}") as client:
        await answering(port)
        yield client, f"http://127.0.0.1:{port}/bot"


@asynccontextmanager
async def running(
    arguments: Sequence[str], env: dict[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that is ended with the context."""
    process = await asyncio.create_subprocess_exec(*arguments, env=env, stdout=-3, stderr=-3)
    try:
        yield process
    finally:
        process.terminate()
        await process.wait()


async def command(env: dict[str, str], *arguments: str) -> None:
    """Run a `postroom` command that must succeed."""
    process = await asyncio.create_subprocess_exec(POSTROOM, *arguments, env=env, stdout=-3, stderr=-3)
    if await process.wait() != 0:
        raise SystemExit(f"postroom {' '.join(arguments)} failed")


async def answering(port: int, path: str = "/") -> None:
    """Return once something answers HTTP on the port, below 500."""
    async with aiohttp.ClientSession() as session:
        for _ in range(1000):
            try:
                async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                    if response.status < 500:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.01)
    raise SystemExit(f"nothing answers on port {port}")


def free_port() -> int:
    """A port nobody uses just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    asyncio.run(main())
