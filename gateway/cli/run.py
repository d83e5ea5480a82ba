"""`postroom init` and `up`: making a home, and running the gateway."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from channels.errors import PostroomError
from gateway import logs
from gateway.cli.output import err, out
from gateway.cli.support import Project
from gateway.ports import is_local
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.console.keys import Keys

Role = Literal["viewer", "operator", "owner"]


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


def up(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8080,
    project: Project = None,
    console: Annotated[bool, typer.Option("--console/--no-console", help="Serve the console at /console.")] = True,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log more.")] = False,
) -> None:
    """Run the gateway until it is stopped. SIGTERM or Ctrl-C drains first."""
    logs.configure(verbose=verbose)
    settings = Settings.from_env()
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if console:
        refuse_open_console(settings, host)
    run_until_stopped(_up(settings, host, port, project, console=console))


class ConsoleOpen(PostroomError):
    """The console would be there for everybody on the network, in the clear."""

    code = "console_open"


def refuse_open_console(settings: Settings, host: str) -> None:
    """Raise ConsoleOpen for an address beyond this machine without TLS in front."""
    if not is_local(host) and not settings.trusted_proxy:
        raise ConsoleOpen(
            f"The console would be open on {host} without TLS.",
            fix="Put a TLS proxy in front and set POSTROOM_TRUSTED_PROXY=1, or start with --no-console.",
        )


def print_link(keys: Keys, base: str, role: Role = "owner", name: str = "owner") -> None:
    """Print a one-time link into the console."""
    err.print(f"Console, once, within 15 minutes: {base}/console/in/{keys.make_link(role, name)}")


async def _up(settings: Settings, host: str, port: int, project: str | None, *, console: bool) -> None:
    from agents_runtime.registry import Registry
    from gateway.places import Places
    from gateway.process import run_gateway
    from gateway.vault import load_vault

    vault, registry = load_vault(settings.key_path), Registry(Places(settings, project))
    serving = Registry(Places(settings, project, serving=True)) if settings.database_url else None
    keys = None
    if console:
        from gateway.console.keys import Keys

        keys = Keys(settings, vault)
    async with run_gateway(settings, vault, registry, serving=serving, host=host, port=port, console=keys) as gateway:
        err.print(
            f"Postroom is up on http://{host}:{gateway.port} with {len(gateway.connections.all())} connection(s)."
        )
        if keys is not None:
            print_link(keys, settings.public_url or f"http://{host}:{gateway.port}")
        await stop_signal()


console_app = typer.Typer(help="The console in the browser.", no_args_is_help=True)


@console_app.command("link")
def link(
    role: Annotated[Role, typer.Option(help="What the person may do.")] = "owner",
    name: Annotated[str, typer.Option(help="Who it is for: the audit log knows them by it.")] = "owner",
    url: Annotated[str, typer.Option(help="Where the gateway is.")] = "http://127.0.0.1:8080",
) -> None:
    """Print a link that lets one person into the console, once, within 15 minutes."""
    from gateway.console.keys import Keys
    from gateway.vault import load_vault

    settings = Settings.from_env()
    token = Keys(settings, load_vault(settings.key_path)).make_link(role, name)
    out.print(f"{settings.public_url or url}/console/in/{token}")


@console_app.callback()
def _console() -> None:
    """The console in the browser."""


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
