"""`postroom demo`: everything on this machine, no key, no account, no service."""

from __future__ import annotations

from typing import Annotated

import typer

from gateway import logs
from gateway.cli.output import out
from gateway.cli.run import print_link, run_until_stopped, stop_signal
from gateway.settings import Settings


def demo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8080,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the log.")] = False,
) -> None:
    """Run a gateway with rehearsal servers and the front-desk agent until Ctrl-C."""
    logs.configure(verbose=verbose, quiet=not verbose)
    run_until_stopped(_demo(Settings.from_env(), port))


async def _demo(settings: Settings, port: int) -> None:
    from gateway.demo import run_demo

    async with run_demo(settings, host="127.0.0.1", port=port) as running:
        command = _command()
        out.print("\n[bold]Postroom is running.[/] No key, no account: rehearsal servers stand in for the providers,")
        out.print("and the front-desk agent answers from its own skills, word for word.\n")
        out.print("In another terminal, write to it as a customer would:\n")
        for channel in running.controls:
            out.print(f'  {command} rehearse {channel} "when are you open?"')
        out.print(f"\n  {command} conversation list      (set POSTROOM_HOME={settings.home}/demo to look inside)")
        out.print("")
        print_link(running.keys, f"http://127.0.0.1:{running.gateway.port}")
        out.print(f"Health: http://127.0.0.1:{running.gateway.port}/healthz   Ctrl-C stops it.\n")
        await stop_signal()


def _command() -> str:
    """How this command was called, so that what is printed can be pasted."""
    import os
    import shutil
    import sys
    from pathlib import Path

    if shutil.which("postroom"):
        return "postroom"
    return os.path.relpath(Path(sys.executable).parent / "postroom")
