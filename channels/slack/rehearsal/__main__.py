"""`python -m channels.slack.rehearsal`: the rehearsed Slack by itself."""

from __future__ import annotations

import argparse
import asyncio

from channels.slack.rehearsal.server import SlackRehearsal


async def main(port: int, hook_url: str, more_teams: tuple[str, ...]) -> None:
    """Serve until stopped."""
    async with SlackRehearsal(port=port, hook_url=hook_url, more_teams=more_teams) as server:
        print(server.base_url, flush=True)  # noqa: T201 - what the command is for
        for workspace in server.workspaces:
            print(f"{workspace.world.team}  bot token {workspace.bot_token}", flush=True)  # noqa: T201
        print(f"app token {server.app_token}  signing secret {server.signing_secret}", flush=True)  # noqa: T201
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m channels.slack.rehearsal")
    parser.add_argument("--port", type=int, default=8082)
    parser.add_argument("--hook", default="", help="the app's request URL, unless it connects by Socket Mode")
    parser.add_argument("--team", action="append", default=[], help="one more workspace the app is installed in")
    given = parser.parse_args()
    asyncio.run(main(given.port, given.hook, tuple(given.team)))
