"""`python -m channels.telegram.rehearsal`: the rehearsed Bot API by itself."""

from __future__ import annotations

import argparse
import asyncio
import sys

from channels.telegram.rehearsal.server import TOKEN, TelegramRehearsal


async def main(port: int, token: str) -> None:
    """Serve until stopped."""
    async with TelegramRehearsal(port=port, token=token) as server:
        print(f"{server.base_url}  token {server.token}", flush=True)  # noqa: T201 - what the command is for
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m channels.telegram.rehearsal")
    parser.add_argument("--port", type=int, default=8081, help="0 takes a free one")
    parser.add_argument("--token", default=TOKEN)
    given = parser.parse_args()
    run = asyncio.run
    if sys.platform != "win32":
        import uvloop

        run = uvloop.run
    run(main(given.port, given.token))
