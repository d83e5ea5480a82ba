"""`postroom mcp`: the builder's tools for other models."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway import logs
from gateway.cli.output import err
from gateway.cli.support import beside
from gateway.settings import Settings

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

app = typer.Typer(help="The builder's tools over the Model Context Protocol.")

Client = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex"]


@app.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of standard input and output.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8090,
    allow_host: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A further name it answers to.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="No change needs your approval.")] = False,
    allow: Annotated[list[str] | None, typer.Option(metavar="TOOL", help="This one needs no approval.")] = None,
) -> None:
    """Serve the builder's tools to a model. Its changes wait for `postroom approval yes ID`."""
    if context.invoked_subcommand is not None:
        return
    from gateway.approvals import ALL

    logs.configure(quiet=True)
    lifted = frozenset([*(allow or []), *([ALL] if yes else [])])
    asyncio.run(_serve(lifted, (host, port, allow_host or []) if http else None))


@app.command()
def token(fresh: Annotated[bool, typer.Option("--new", help="Make a new one; the old stops working.")] = False) -> None:
    """Print the token that HTTP clients must show."""
    from gateway.access_token import access_token, new_access_token

    settings = Settings.from_env()
    sys.stdout.write(f"{(new_access_token if fresh else access_token)(settings)}\n")


@app.command()
def config(client: Annotated[Client, typer.Argument(help="For which client.")] = "claude-code") -> None:
    """Print what to paste into a client's configuration."""
    command = shutil.which("postroom") or sys.argv[0]
    home = str(Settings.from_env().home)
    server = {"command": command, "args": ["mcp"], "env": {"POSTROOM_HOME": home}}
    where: dict[str, tuple[str, Callable[[], str]]] = {
        "claude-code": (".mcp.json in the project", lambda: _json({"mcpServers": {"postroom": server}})),
        "claude-desktop": ("claude_desktop_config.json", lambda: _json({"mcpServers": {"postroom": server}})),
        "cursor": ("~/.cursor/mcp.json", lambda: _json({"mcpServers": {"postroom": server}})),
        "vscode": (".vscode/mcp.json", lambda: _json({"servers": {"postroom": {"type": "stdio", **server}}})),
        "codex": ("~/.codex/config.toml", lambda: _toml(command, home)),
    }
    file, text = where[client]
    err.print(f"Paste into {file}:")
    sys.stdout.write(text())


async def _serve(lifted: frozenset[str], http: tuple[str, int, list[str]] | None) -> None:
    from importlib.metadata import version

    from agents_runtime.registry import Registry
    from builder_skill.mcp_server import build_server
    from builder_skill.system_skill import install
    from gateway.access_token import access_token
    from gateway.approvals import Approvals
    from gateway.desk import lay_desk
    from gateway.places import agent_roots

    settings = Settings.from_env()
    async with beside(settings) as ledger:
        install(settings.home)
        desk = lay_desk(settings, ledger, Registry(agent_roots(settings)), "mcp")
        gate = Approvals(ledger, desk, "mcp", settings.auto_approve | lifted)
        server = build_server(gate, version("postroom"))
        if http is None:
            await _on_stdio(server)
            return
        from gateway.mcp_http import PATH, serve

        host, port, hosts = http
        access_token(settings)
        err.print(f"MCP on http://{host}:{port}{PATH}; clients show the token of: postroom mcp token")
        await serve(server, lambda: access_token(settings), host, port, hosts)


async def _on_stdio(server: Server) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _toml(command: str, home: str) -> str:
    return (
        f"[mcp_servers.postroom]\ncommand = {json.dumps(command)}\n"
        f'args = ["mcp"]\nenv = {{ POSTROOM_HOME = {json.dumps(home)} }}\n'
    )
