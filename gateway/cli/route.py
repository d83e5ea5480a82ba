"""`postroom route`: who answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import JsonValue
from rich.markup import escape

from channels.errors import PostroomError
from gateway.cli.output import Row, err, listing, out, print_json
from gateway.cli.support import Json, Project, use, with_ledger
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Deployment
from gateway.settings import Settings
from routes.deploy import DeployRefused
from routes.route import AccessPolicy, describe_route
from routes.scope import ScopeKind

if TYPE_CHECKING:
    from gateway.deploying import Deployer

app = typer.Typer(help="Which agent answers which messages.", no_args_is_help=True)

ConnectionId = Annotated[str, typer.Option("--connection", metavar="ID", help="The connection.")]
AgentId = Annotated[str, typer.Option("--agent", metavar="ID", help="The agent that answers.")]
Kind = Annotated[ScopeKind, typer.Option("--scope", help="Which chats.")]
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


def _proposing(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options that make a proposal, handed on as one."""
    own = inspect.signature(command, eval_str=True).parameters
    given = inspect.signature(_proposal, eval_str=True).parameters

    @wraps(command)
    def run(**options: object) -> None:
        proposal = _proposal(**{name: value for name, value in options.items() if name in given})  # type: ignore[arg-type]
        command(proposal, **{name: value for name, value in options.items() if name in own})

    parameters = [*given.values(), *(p for p in own.values() if p.name != "proposal")]
    run.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in parameters])  # type: ignore[attr-defined]
    return run


def _proposal(
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
) -> dict[str, JsonValue]:
    """The arguments of channel_route_preflight and agent_deploy_channel."""
    sets = {"chats": chat, "threads": thread, "senders": sender, "commands": command}
    return {
        "connectionId": connection,
        "agentId": agent,
        "scope": {"kind": scope, **{name: [*values] for name, values in sets.items() if values}},
        "access": access,
        "allow": [*(allow or ())],
        "mentionRequired": not no_mention,
        "stranger": stranger,
        "fallback": fallback,
        "routeId": route_id,
    }


@app.command()
@_proposing
def preflight(proposal: dict[str, JsonValue], project: Project = None, json: Json = False) -> None:
    """Show what stands in the way of a route, without changing anything. Exits 1 on a blocker."""
    found = use("channel_route_preflight", proposal, project)
    if json:
        print_json(found)
    else:
        _print(found)
    if not found["ok"]:
        raise typer.Exit(1)


@app.command()
@_proposing
def deploy(
    proposal: dict[str, JsonValue],
    disable_conflicting: Annotated[
        bool, typer.Option("--disable-conflicting", help="Disable the routes in the way, in the same step.")
    ] = False,
    fingerprint: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Deploy only if the preflight with this fingerprint still holds.")
    ] = None,
    require_rehearsal: Annotated[
        bool, typer.Option("--require-rehearsal", help="Deploy only if every benchmark case passes.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and change nothing.")] = False,
    project: Project = None,
    json: Json = False,
) -> None:
    """Put a route live, if nothing stands in the way."""
    more: dict[str, JsonValue] = {
        "disableConflictingRoutes": disable_conflicting,
        "fingerprint": fingerprint,
        "requireRehearsal": require_rehearsal,
        "dryRun": dry_run,
    }
    try:
        done = use("agent_deploy_channel", {**proposal, **more}, project)
    except PostroomError as error:
        if json:
            told: dict[str, JsonValue] = {"error": {"code": error.code, "message": error.message, "fix": error.fix}}
            print_json(told | (error.preflight.describe() if isinstance(error, DeployRefused) else {}))
            raise typer.Exit(1) from error
        raise
    if json:
        print_json(done)
        return
    _print({**done, "blockers": [], "ok": True})
    route, disabled = done["route"], done["disabled"]
    if isinstance(route, dict) and isinstance(disabled, list):
        out.print(f"{'Live' if done['live'] else 'Would be live'}: {route['id']}")
        if disabled:
            out.print(f"Disabled: {', '.join(map(str, disabled))}")


def about_an_agent(command: Callable[..., None]) -> Callable[..., None]:
    """The same command with the agent as its argument: `postroom agent deploy ID --connection …`."""

    @wraps(command)
    def run(**options: object) -> None:
        command(**options)

    argument = Annotated[str, typer.Argument(metavar="ID", help="The agent that answers.")]
    given = inspect.signature(command).parameters.values()
    parameters = [p.replace(annotation=argument) if p.name == "agent" else p for p in given]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


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


def _print(found: Row) -> None:
    for sign, name in (("[red]✗[/]", "blockers"), ("[yellow]![/]", "warnings")):
        findings = found[name]
        for finding in findings if isinstance(findings, list) else []:
            if isinstance(finding, dict):
                fix = f" → {finding['fix']}" if finding["fix"] else ""
                out.print(f"{sign} [dim]({finding['code']})[/] {escape(str(finding['message']) + fix)}")
    if found["ok"] and not found["warnings"]:
        out.print("[green]✓[/] Nothing stands in the way.")


def _deployer(settings: Settings, ledger: Ledger, project: str | None) -> Deployer:
    from agents_runtime.registry import Registry
    from gateway.deploying import Deployer
    from gateway.places import agent_roots

    return Deployer(ledger, Registry(agent_roots(settings, project)), settings)
