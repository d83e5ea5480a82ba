"""`postroom rehearse`: say something on a rehearsal phone and read the answer."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from channels.errors import PostroomError
from gateway.running import read_running
from gateway.settings import Settings

WAIT = 60.0
"""Seconds to wait for a running demo, and for the answer."""


class NoDemo(PostroomError):
    """No demo is running."""

    code = "demo_not_running"


class NoAnswer(PostroomError):
    """The bot said nothing in time."""

    code = "no_answer"


def rehearse(
    channel: Annotated[str, typer.Argument(help="telegram, slack, whatsapp or sms.")],
    text: Annotated[str | None, typer.Argument(help="What to say. Without it: line by line until Ctrl-D.")] = None,
    user: Annotated[str, typer.Option(help="Who writes.")] = "you",
    chat: Annotated[str | None, typer.Option(help="Where; a private chat of that user without it.")] = None,
    wait: Annotated[float, typer.Option(min=0.1, max=600.0, help="Seconds to wait.")] = WAIT,
) -> None:
    """Write to a running demo as a user would, through the real adapter, and print the reply's text."""
    if text is not None:
        sys.stdout.write(asyncio.run(_ask(channel, text, user, chat, wait)) + "\n")
        return
    for line in sys.stdin:
        if line.strip():
            sys.stdout.write(asyncio.run(_ask(channel, line.strip(), user, chat, wait)) + "\n")
            sys.stdout.flush()


async def _ask(channel: str, text: str, user: str, chat: str | None, wait: float) -> str:
    from channels.rehearsal import RehearsalClient

    url = await _control_url(channel, wait)
    async with RehearsalClient(url) as client:
        try:
            return await client.ask(text, user=user, chat=chat, timeout=wait)
        except TimeoutError as error:
            raise NoAnswer(
                f"No answer came within {wait:.0f} seconds.", fix="The demo's own output says what happened."
            ) from error


async def _control_url(channel: str, wait: float) -> str:
    settings = Settings.from_env()
    deadline = asyncio.get_running_loop().time() + wait
    while True:
        running = read_running(settings)
        if running is not None:
            if channel not in running.controls:
                raise NoDemo(
                    f"The running demo has no channel '{channel}'.", fix=f"It has: {', '.join(running.controls)}."
                )
            return running.controls[channel]
        if asyncio.get_running_loop().time() >= deadline:
            raise NoDemo("No demo is running.", fix="Start one in another terminal: make demo")
        await asyncio.sleep(0.2)
