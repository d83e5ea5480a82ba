"""`python -m channels.slack.rehearsal`: the rehearsed Slack by itself."""

from __future__ import annotations

import argparse
import asyncio

from channels.slack.rehearsal.server import SlackRehearsal


async def main(port: int, hook_url: str) -> None:
    """Serve until stopped."""
    async with SlackRehearsal(port=port, hook_url=hook_url) as server:
        print(f"{server.base_url}  bot token {server.bot_token}", flush=True)  # noqa: T201 - what the command is for
        print(f"app token {server.app_token}  signing secret {server.signing_secret}", flush=True)  # noqa: T201
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m channels.slack.rehearsal")
    parser.add_argument("--port", type=int, default=8082)
    parser.add_argument("--hook", default="", help="the app's request URL, unless it connects by Socket Mode")
    given = parser.parse_args()
    asyncio.run(main(given.port, given.hook))
