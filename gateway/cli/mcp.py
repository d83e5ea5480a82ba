"""`postroom mcp`: the builder's tools for other models."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway import logs
from gateway.cli.output import err
from gateway.cli.support import beside
from gateway.mcp_clients import Client
from gateway.settings import Settings

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

app = typer.Typer(help="The builder's tools over the Model Context Protocol.")


@app.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of standard input and output.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8090,
    allow_host: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A further name it answers to.")] = None,
    ask: Annotated[
        bool | None,
        typer.Option("--ask/--no-ask", help="Let the person at the client say yes there; not over HTTP unless asked."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="No change needs your approval.")] = False,
    allow: Annotated[list[str] | None, typer.Option(metavar="TOOL", help="This one needs no approval.")] = None,
) -> None:
    """Serve the builder's tools to a model. Its changes wait for your yes, in the client or by `postroom approval`."""
    if context.invoked_subcommand is not None:
        return
    from builder_skill.tools import CATALOGUE
    from builder_skill.tools.tool import find
    from gateway.approvals import ALL

    logs.configure(quiet=True)
    for name in allow or []:
        find(CATALOGUE, name)
    lifted = frozenset([*(allow or []), *([ALL] if yes else [])])
    asyncio.run(_serve(lifted, (host, port, allow_host or []) if http else None, ask=not http if ask is None else ask))


@app.command()
def token(fresh: Annotated[bool, typer.Option("--new", help="Make a new one; the old stops working.")] = False) -> None:
    """Print the token that HTTP clients must show."""
    from gateway.access_token import access_token, new_access_token

    settings = Settings.from_env()
    sys.stdout.write(f"{(new_access_token if fresh else access_token)(settings)}\n")


@app.command()
def config(
    client: Annotated[Client, typer.Argument(help="For which client.")] = "claude-code",
    url: Annotated[str, typer.Option(metavar="URL", help="Of a running postroom mcp --http.")] = "",
) -> None:
    """Print what to paste into a client's configuration."""
    from gateway.mcp_clients import reached, started

    pasted = reached(client, url) if url else started(client, _command(), str(Settings.from_env().home))
    err.print(f"Paste into {pasted.file}:", markup=False)
    sys.stdout.write(pasted.text)
    if pasted.then:
        err.print(pasted.then, markup=False)


def _command() -> str:
    """This very command, so that a client starts the same installation."""
    here = Path(sys.argv[0]).absolute()
    return str(here) if here.name == "postroom" else shutil.which("postroom") or "postroom"


async def _serve(lifted: frozenset[str], http: tuple[str, int, list[str]] | None, *, ask: bool) -> None:
    from importlib.metadata import version

    from agents_runtime.registry import Registry
    from builder_skill.mcp_server import build_server
    from builder_skill.system_skill import install
    from gateway.access_token import access_token
    from gateway.approvals import Approvals
    from gateway.desk import lay_desk
    from gateway.places import Places

    settings = Settings.from_env()
    async with beside(settings) as ledger:
        install(settings.home)
        desk = lay_desk(settings, ledger, Registry(Places(settings)), "mcp")
        gate = Approvals(ledger, desk, "mcp", settings.auto_approve | lifted)
        server = build_server(gate, version("postroom"), redact=logs.redact, ask_client=ask)
        if http is None:
            await _on_stdio(server)
            return
        from gateway.mcp_http import PATH, listen, serve

        host, port, hosts = http
        access_token(settings)
        with listen(host, port) as listening:
            bound: int = listening.getsockname()[1]
            name = f"[{host}]" if ":" in host else host
            err.print(
                f"MCP on http://{name}:{bound}{PATH}; clients show the token of: postroom mcp token", markup=False
            )
            await serve(server, lambda: access_token(settings), listening, hosts)


async def _on_stdio(server: Server) -> None:
    from mcp.server.stdio import stdio_server

    # The library reads in a thread that no cancellation reaches: Ctrl-C ends the process as SIGTERM does, at once.
    # What was written is whole: packages are moved into place, and the ledger commits.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
