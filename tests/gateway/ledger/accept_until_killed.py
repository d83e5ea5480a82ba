"""Run as a process: accepts events as fast as it can, and writes each one's number once it is acknowledged."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from pathlib import Path

from channels.message import Conversation
from gateway.ledger.sqlite import open_sqlite
from tests.gateway.ledger.support import message


async def main() -> None:
    numbers = itertools.count()
    async with open_sqlite(Path(sys.argv[1]), worker=True) as ledger:

        async def accept() -> None:
            for n in numbers:
                assert await ledger.accept([message(n, Conversation("shop", f"c{n % 7}"))]) == ["new"]
                os.write(1, b"%d\n" % n)

        await asyncio.gather(*(accept() for _ in range(20)))


asyncio.run(main())
