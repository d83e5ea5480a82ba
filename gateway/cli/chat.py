"""`postroom chat`: talk to an agent in the terminal."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer
from rich.markdown import Markdown

from channels.adapter import Call
from gateway import logs
from gateway.cli.output import err, out
from gateway.cli.support import Project
from gateway.settings import Settings


def chat(
    agent: Annotated[str, typer.Argument(help="An agent's id.")] = "front-desk",
    text: Annotated[str | None, typer.Argument(help="Say one thing and leave.")] = None,
    project: Project = None,
) -> None:
    """Talk to an agent here, drafts too, through the same pipeline as every channel. Ctrl-D leaves."""
    logs.configure(quiet=True)
    asyncio.run(_chat(agent, text, project))


async def _chat(agent: str, text: str | None, project: str | None) -> None:
    from agents_runtime.registry import Registry
    from gateway.local import open_terminal, said
    from gateway.places import agent_roots

    def hear(call: Call) -> None:
        if words := said(call):
            out.print(Markdown(words) if sys.stdout.isatty() else words, markup=False)

    settings = Settings.from_env()
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    registry = Registry(agent_roots(settings, project))
    package = registry.get(agent)
    async with open_terminal(settings, registry, agent, hear) as terminal:
        if text is not None:
            await terminal.say(text)
            return
        if sys.stdin.isatty():
            err.print(f"Talking to {package.manifest.label}. Ctrl-D leaves.")
        while line := await asyncio.to_thread(_read):
            if line.strip():
                await terminal.say(line.strip())


def _read() -> str:
    if sys.stdin.isatty():
        err.print("[bold]you>[/] ", end="")
    return sys.stdin.readline()
