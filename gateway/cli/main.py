"""Every command, put together. Each group is imported here; what it runs is imported when it runs."""

from __future__ import annotations

import sys

import typer

from channels.errors import PostroomError
from gateway.cli import (
    agent,
    audit,
    backup,
    build,
    chat,
    connection,
    conversation,
    db,
    declared,
    demo,
    doctor,
    erase,
    explain,
    key,
    ledger,
    mcp,
    package,
    pairing,
    publish,
    rehearse,
    route,
    run,
    tool,
    top,
)
from gateway.cli.output import fail

app = typer.Typer(
    name="postroom",
    help="Agents in Markdown that answer on Telegram, Slack, WhatsApp and SMS.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(run.init)
app.command()(run.up)
app.command()(demo.demo)
app.command()(rehearse.rehearse)
app.command()(chat.chat)
app.command()(doctor.doctor)
app.command()(audit.audit)
app.command()(top.top)
app.command()(explain.explain)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(erase.erase)
app.command()(build.build)
app.command()(tool.tool)
app.command()(declared.plan)
app.command()(declared.apply)
app.command()(declared.export)
app.add_typer(connection.app, name="connection")
agent.app.command("deploy")(route.about_an_agent(route.deploy))
agent.app.command()(publish.publish)
agent.app.command()(publish.unpublish)
app.add_typer(agent.app, name="agent")
app.add_typer(package.bench, name="bench")
app.add_typer(route.app, name="route")
app.add_typer(key.app, name="key")
app.add_typer(build.approvals, name="approval")
app.add_typer(mcp.app, name="mcp")
app.add_typer(run.console_app, name="console")
app.add_typer(db.app, name="db")
app.add_typer(ledger.app, name="ledger")
app.add_typer(pairing.app, name="pairing")
app.add_typer(conversation.conversations, name="conversation")
app.add_typer(conversation.dead_letters, name="dead-letter")


def main() -> None:
    """The entry point: an expected error is two lines and exit code 1, never a traceback."""
    if sys.argv[1:3] == ["connection", "add"]:
        connection.register_channels()
    try:
        app()
    except PostroomError as error:
        fail(error)
        sys.exit(1)
