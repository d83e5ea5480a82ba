"""`postroom init`, `up` and `key`: making a home, and running the gateway."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Annotated

import typer

from gateway import logs
from gateway.cli.output import err, out
from gateway.cli.support import Project
from gateway.settings import Settings


def init() -> None:
    """Make the home folder with its key and a place for agents. Safe to run again."""
    from builder_skill.system_skill import install
    from gateway.vault import load_vault

    settings = Settings.from_env()
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.agents_dir.mkdir(exist_ok=True)
    load_vault(settings.key_path)
    install(settings.home)
    out.print(f"Home: {settings.home}")
    out.print(f"Agents: {settings.agents_dir}  (one folder each; `postroom agent list` shows what is found)")
    out.print("Next: postroom connection add telegram --id shop --token-env SHOP_TOKEN")


def key() -> None:
    """Print a new vault key for POSTROOM_KEY."""
    from gateway.vault import new_key

    out.print(new_key())


def up(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8080,
    project: Project = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log more.")] = False,
) -> None:
    """Run the gateway until it is stopped. SIGTERM or Ctrl-C drains first."""
    logs.configure(verbose=verbose)
    settings = Settings.from_env()
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    run_until_stopped(_up(settings, host, port, project))


async def _up(settings: Settings, host: str, port: int, project: str | None) -> None:
    from agents_runtime.registry import Registry
    from gateway.places import Places
    from gateway.process import run_gateway
    from gateway.vault import load_vault

    vault, registry = load_vault(settings.key_path), Registry(Places(settings, project))
    async with run_gateway(settings, vault, registry, host=host, port=port) as gateway:
        err.print(
            f"Postroom is up on http://{host}:{gateway.port} with {len(gateway.connections.all())} connection(s)."
        )
        await stop_signal()


async def stop_signal() -> None:
    """Return when the process is asked to stop."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()


def run_until_stopped(main: Coroutine[None, None, None]) -> None:
    """Run on uvloop, which takes about a third off the event loop's own time."""
    import uvloop

    uvloop.run(main)
