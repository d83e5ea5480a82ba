"""`postroom route`: who answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import JsonValue

from gateway.cli.output import err, listing, out, print_json
from gateway.cli.support import Json, Project, with_ledger
from gateway.ledger.protocol import Deployment, Ledger
from gateway.settings import Settings
from routes.deploy import DeployRefused
from routes.preflight import Preflight, Proposal
from routes.route import Access, AccessPolicy, describe_route
from routes.scope import Scope, ScopeKind

if TYPE_CHECKING:
    from gateway.deploying import Deployer

app = typer.Typer(help="Which agent answers which messages.", no_args_is_help=True)

ConnectionId = Annotated[str, typer.Option("--connection", metavar="ID", help="The connection.")]
AgentId = Annotated[str, typer.Option("--agent", metavar="ID", help="The agent that answers.")]
Kind = Annotated[ScopeKind, typer.Option("--scope", help="Which chats.")]
Ids = Sequence[str]
Chats = Annotated[list[str] | None, typer.Option("--chat", metavar="ID", help="Only these chats.")]
Threads = Annotated[list[str] | None, typer.Option("--thread", metavar="ID", help="Only these threads.")]
Senders = Annotated[list[str] | None, typer.Option("--sender", metavar="ID", help="Only these senders.")]
Commands = Annotated[list[str] | None, typer.Option("--command", metavar="NAME", help="Only these /commands.")]
Policy = Annotated[AccessPolicy, typer.Option("--access", help="Who may use it.")]
Allow = Annotated[list[str] | None, typer.Option("--allow", metavar="SENDER", help="Let this sender in.")]
NoMention = Annotated[bool, typer.Option("--no-mention", help="Answer every message of a group.")]
Stranger = Annotated[Literal["polite", "silent"], typer.Option("--stranger", help="How to treat others.")]
Fallback = Annotated[bool, typer.Option("--fallback", help="Take what no other route of the connection takes.")]
RouteId = Annotated[str, typer.Option("--id", metavar="ID", help="Replace this route.")]


@app.command("list")
def list_(json: Json = False) -> None:
    """List routes."""

    async def work(_settings: Settings, ledger: Ledger) -> list[dict[str, JsonValue]]:
        channels = {c.id: c.channel for c in await ledger.connections()}
        return [{**describe_route(r), "channel": channels.get(r.connection_id)} for r in await ledger.routes()]

    columns = {
        "id": "ID",
        "enabled": "LIVE",
        "channel": "CHANNEL",
        "connectionId": "CONNECTION",
        "agentId": "AGENT",
        "scope": "SCOPE",
        "access": "ACCESS",
        "fallback": "FALLBACK",
    }
    listing(with_ledger(work), as_json=json, columns=columns, empty="No routes. Make one: postroom route deploy --help")


@app.command()
def preflight(
    connection: ConnectionId,
    agent: AgentId,
    scope: Kind = "any",
    chat: Chats = None,
    thread: Threads = None,
    sender: Senders = None,
    command: Commands = None,
    access: Policy = "open",
    allow: Allow = None,
    no_mention: NoMention = False,
    stranger: Stranger = "polite",
    fallback: Fallback = False,
    route_id: RouteId = "",
    project: Project = None,
    json: Json = False,
) -> None:
    """Show what stands in the way of a route, without changing anything. Exits 1 on a blocker."""
    proposal = Proposal(
        connection_id=connection,
        agent_id=agent,
        scope=_scope(scope, chat, thread, sender, command),
        access=Access(access, frozenset(allow or ()), not no_mention, stranger),
        fallback=fallback,
        route_id=route_id,
    )

    async def work(settings: Settings, ledger: Ledger) -> Preflight:
        return await _deployer(settings, ledger, project).check(proposal)

    found = with_ledger(work)
    if json:
        print_json(found.describe())
    else:
        _print(found)
    if not found.ok:
        raise typer.Exit(1)


@app.command()
def deploy(
    connection: ConnectionId,
    agent: AgentId,
    scope: Kind = "any",
    chat: Chats = None,
    thread: Threads = None,
    sender: Senders = None,
    command: Commands = None,
    access: Policy = "open",
    allow: Allow = None,
    no_mention: NoMention = False,
    stranger: Stranger = "polite",
    fallback: Fallback = False,
    route_id: RouteId = "",
    disable_conflicting: Annotated[
        bool, typer.Option("--disable-conflicting", help="Disable the routes in the way, in the same step.")
    ] = False,
    fingerprint: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Deploy only if the preflight with this fingerprint still holds.")
    ] = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Put a route live, if nothing stands in the way."""
    proposal = Proposal(
        connection_id=connection,
        agent_id=agent,
        scope=_scope(scope, chat, thread, sender, command),
        access=Access(access, frozenset(allow or ()), not no_mention, stranger),
        fallback=fallback,
        route_id=route_id,
    )

    async def work(settings: Settings, ledger: Ledger) -> tuple[Preflight, Deployment]:
        deployer = _deployer(settings, ledger, project)
        found = await deployer.check(proposal)
        return found, await deployer.deploy(proposal, fingerprint=fingerprint, disable_conflicting=disable_conflicting)

    try:
        found, deployment = with_ledger(work)
    except DeployRefused as error:
        if json:
            print_json(
                {
                    "error": {"code": error.code, "message": error.message, "fix": error.fix},
                    **error.preflight.describe(),
                }
            )
            raise typer.Exit(1) from error
        raise
    live = next(r for r in deployment.after if r.enabled)
    disabled = [r.id for r in deployment.after if not r.enabled]
    if json:
        print_json({"route": describe_route(live), "disabled": list(disabled), "deployment": deployment.number})
        return
    _print(replace(found, blockers=()))
    out.print(f"Live: {live.id}")
    if disabled:
        out.print(f"Disabled: {', '.join(disabled)}")


@app.command()
def disable(route_id: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Take a route out of service."""

    async def work(settings: Settings, ledger: Ledger) -> None:
        await _deployer(settings, ledger, None).disable(route_id)

    with_ledger(work)
    err.print(f"Disabled: {route_id}")


@app.command()
def enable(route_id: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Put a disabled route back in service, if nothing stands in the way."""

    async def work(settings: Settings, ledger: Ledger) -> None:
        await _deployer(settings, ledger, None).enable(route_id)

    with_ledger(work)
    err.print(f"Live: {route_id}")


@app.command()
def rollback() -> None:
    """Undo the last change of routes."""

    async def work(settings: Settings, ledger: Ledger) -> Deployment:
        return await _deployer(settings, ledger, None).rollback()

    deployment = with_ledger(work)
    back = ", ".join(f"{r.id}{'' if r.enabled else ' (disabled)'}" for r in deployment.after) or "none"
    err.print(f"Back as it was: {back}")


def _print(found: Preflight) -> None:
    for blocker in found.blockers:
        out.print(f"[red]✗[/] [dim]({blocker.code})[/] {blocker.message} → {blocker.fix}")
    for warning in found.warnings:
        out.print(
            f"[yellow]![/] [dim]({warning.code})[/] {warning.message}" + (f" → {warning.fix}" if warning.fix else "")
        )
    if found.ok and not found.warnings:
        out.print("[green]✓[/] Nothing stands in the way.")


def _scope(kind: ScopeKind, chats: Ids | None, threads: Ids | None, senders: Ids | None, commands: Ids | None) -> Scope:
    def some(values: Ids | None) -> frozenset[str] | None:
        return frozenset(values) if values else None

    named = frozenset(c.removeprefix("/").lower() for c in commands) if commands else None
    return Scope(kind, some(chats), some(threads), some(senders), named)


def _deployer(settings: Settings, ledger: Ledger, project: str | None) -> Deployer:
    from agents_runtime.registry import Registry
    from gateway.deploying import Deployer
    from gateway.places import agent_roots

    return Deployer(ledger, Registry(agent_roots(settings, project)), settings)
