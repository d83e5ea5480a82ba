"""The rehearsed Bot API by itself, as a command and as the demo starts it."""

from __future__ import annotations

import asyncio
import sys

import aiohttp

from channels.telegram.rehearsal import rehearse


async def get_me(base_url: str, token: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"{base_url}{token}/getMe") as response:
        return response.status


async def test_the_command_prints_its_base_url_and_serves_until_it_is_stopped():
    token = "1000000001:" + "c" * 35
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "channels.telegram.rehearsal", "--port", "0", "--token", token,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    base_url, _, printed = (await process.stdout.readline()).decode().split()
    assert printed == token
    assert await get_me(base_url, token) == 200
    process.terminate()
    await process.wait()


async def test_the_demo_gets_what_a_connection_needs():
    async with rehearse("http://127.0.0.1:1/hook") as rehearsed:
        assert await get_me(str(rehearsed.settings["base_url"]), rehearsed.secrets["bot_token"]) == 200
        assert str(rehearsed.settings["base_url"]).startswith(rehearsed.control_url)
