"""How soon each page of the console begins to answer with 100,000 messages in the ledger: `python -m bench.console`."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from bench.__main__ import free_port
from channels.message import Conversation, InboundMessage, Sender, message_id
from gateway.ledger.sqlite import open_sqlite
from routes.connection import Connection

MESSAGES = 100_000
CONVERSATIONS = 1_000
BATCH = 2_000
LOOKS = 20
TARGET_MS = 150.0

PAGES = (
    *("now", "conversations", "conversations?find=c7", "conversation?key=shop/c7", "agents", "agents/front-desk"),
    *("routes", "connections", "phones", "letters", "approvals", "health"),
)


async def main() -> None:
    """Fill a ledger, start a gateway on it, and time the pages."""
    home = Path(tempfile.mkdtemp(prefix="bench-console-"))
    try:
        await _fill(home)
        await _measure(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _fill(home: Path) -> None:
    started = time.perf_counter()
    async with open_sqlite(home / "ledger.db", worker=False) as ledger:
        await ledger.put_connection(Connection("shop", "telegram", enabled=False))
        for first in range(0, MESSAGES, BATCH):
            await ledger.accept([_message(n) for n in range(first, first + BATCH)])
    print(f"{MESSAGES} messages in {CONVERSATIONS} conversations, in {time.perf_counter() - started:.1f} s")


def _message(n: int) -> InboundMessage:
    at = datetime.fromtimestamp(1_700_000_000 + n, UTC)
    return InboundMessage(
        id=message_id("shop", str(n), at),
        connection_id="shop",
        channel="telegram",
        kind="message",
        dedupe_keys=(str(n),),
        conversation=Conversation("shop", f"c{n % CONVERSATIONS}"),
        scope="dm",
        sender=Sender(f"u{n % CONVERSATIONS}", name=f"Person {n % CONVERSATIONS}"),
        text=f"Message {n} says a few words, as people do.",
        received_at=at,
    )


async def _measure(home: Path) -> None:
    port = free_port()
    env = {**os.environ, "POSTROOM_HOME": str(home)}
    command = [sys.executable, "-c", "from gateway.cli import main; main()"]
    gateway = await asyncio.create_subprocess_exec(*command, "up", "--port", str(port), env=env, stderr=-3, stdout=-3)
    try:
        url = f"http://127.0.0.1:{port}"
        await _ready(url)
        link = await asyncio.create_subprocess_exec(*command, "console", "link", "--url", url, env=env, stdout=-1)
        way_in = (await link.communicate())[0].decode().strip()
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            await session.post(way_in)
            print(f"{'page':<28}{'p50 ms':>8}{'worst ms':>10}")
            for page in PAGES:
                times = [await _first_byte(session, f"{url}/console/{page}") for _ in range(LOOKS)]
                late = "  over the target" if max(times) > TARGET_MS else ""
                print(f"{page:<28}{statistics.median(times):>8.1f}{max(times):>10.1f}{late}")
    finally:
        gateway.send_signal(signal.SIGTERM)
        await gateway.wait()


async def _ready(url: str) -> None:
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        while True:
            try:
                async with session.get(f"{url}/readyz") as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)


async def _first_byte(session: aiohttp.ClientSession, url: str) -> float:
    started = time.perf_counter()
    async with session.get(url) as response:
        await response.content.readany()
        assert response.status == 200, (url, response.status)  # noqa: S101
        return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    asyncio.run(main())
