"""`postroom connection`: add, list, show, check, remove."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from channels.adapter import Channel, Secret
from channels.errors import PostroomError
from channels.registry import ChannelBroken, load, names
from gateway.cli.output import err, fail, listing, out, print_json
from gateway.cli.support import Json, find_connection, with_ledger
from gateway.connecting import ConnectionInvalid, make_connection
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from routes.connection import Connection

app = typer.Typer(help="Accounts on channels: bot tokens, apps, numbers.", no_args_is_help=True)
add = typer.Typer(help="Add a connection; adding an existing id replaces it.", no_args_is_help=True)
app.add_typer(add, name="add")


class SecretMissing(PostroomError):
    """A secret was not given and can't be asked for."""

    code = "secret_missing"


@app.command("list")
def list_(json: Json = False) -> None:
    """List connections. Secrets are shown as yes or no, never as values."""
    rows = with_ledger(_rows)
    columns = {"id": "ID", "channel": "CHANNEL", "enabled": "ENABLED", "status": "STATUS", "detail": "DETAIL"}
    listing(rows, as_json=json, columns=columns, empty="No connections. Add one: postroom connection add --help")


@app.command()
def show(connection_id: Annotated[str, typer.Argument(metavar="ID")], json: Json = False) -> None:
    """Show one connection, with its webhook address and what to paste where."""

    async def work(settings: Settings, ledger: Ledger) -> dict[str, JsonValue]:
        connection = await find_connection(ledger, connection_id)
        row = describe(connection)
        row["settings"] = connection.settings
        row["hookPath"] = f"/hooks/{connection.id}/{connection.hook_secret}"
        row["hookUrl"] = settings.hook_url(connection.id, connection.hook_secret) or None
        row["setup"] = load(connection.channel).setup
        return row

    row = with_ledger(work)
    if json:
        print_json(row)
        return
    for key, value in row.items():
        if value not in (None, ""):
            out.print(f"[bold]{key}[/]: {value}", markup=True)


@app.command()
def check(
    connection_id: Annotated[str | None, typer.Argument(metavar="ID", help="All of them without one.")] = None,
    json: Json = False,
) -> None:
    """Ask the provider whether a connection works, and say what it can't see."""
    from gateway.checks import check_connection

    async def work(settings: Settings, ledger: Ledger) -> list[dict[str, JsonValue]]:
        rows = (
            [await find_connection(ledger, connection_id)]
            if connection_id is not None
            else [c for c in await ledger.connections() if c.enabled]
        )
        return [await check_connection(row, ledger, settings) for row in rows]

    reports = with_ledger(work)
    if json:
        print_json(reports)
    for report in reports:
        if not json:
            _print_report(report)
    if not all(r["ok"] for r in reports):
        raise typer.Exit(1)


@app.command()
def remove(connection_id: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Remove a connection with its secrets and routes. Its conversations stay."""

    async def work(_settings: Settings, ledger: Ledger) -> None:
        await find_connection(ledger, connection_id)
        await ledger.remove_connection(connection_id)

    with_ledger(work)
    err.print(f"Removed connection '{connection_id}'.")


def describe(connection: Connection) -> dict[str, JsonValue]:
    """A connection as safe metadata: each secret only as whether the vault has it."""
    row: dict[str, JsonValue] = {
        "id": connection.id,
        "channel": connection.channel,
        "label": connection.label,
        "enabled": connection.enabled,
        "status": connection.status,
        "detail": connection.status_detail or None,
        "owners": list(connection.owners),
    }
    for secret in load(connection.channel).secrets:
        words = "".join(word.capitalize() for word in secret.name.split("_"))
        row[f"has{words}"] = secret.name in connection.secret_names
    return row


async def _rows(_settings: Settings, ledger: Ledger) -> list[dict[str, JsonValue]]:
    return [describe(c) for c in await ledger.connections()]


def _print_report(report: dict[str, JsonValue]) -> None:
    mark = "[green]ok[/]" if report["ok"] else "[red]needs attention[/]"
    out.print(f"[bold]{report['id']}[/] ({report['channel']}) {mark} {report['account'] or ''}")
    findings = report["findings"]
    for finding in findings if isinstance(findings, list) else []:
        if isinstance(finding, dict):
            note = "[yellow]![/]" if finding["fix"] else "[green]✓[/]"
            sign = note if finding["ok"] else "[red]✗[/]"
            fix = f" → {finding['fix']}" if finding["fix"] else ""
            out.print(f"  {sign} {finding['message']}{fix}")


# `add CHANNEL`: the options are the channel's own settings and secrets


def register_channels() -> None:
    """Give `connection add` one command per channel, its options read from the channel's registration."""
    for name in names():
        try:
            channel = load(name)
        except ChannelBroken as error:  # what others installed must not stand in the way of the rest
            fail(error)
            continue
        add.command(name, help=f"Add a {channel.label} connection.")(_adder(channel))


def _adder(channel: Channel) -> Callable[..., None]:
    def add_connection(**given: str | list[str] | None) -> None:
        lines = {key: value if isinstance(value, str) else "\n".join(value) for key, value in given.items() if value}
        _add(channel, {key.removeprefix("o_"): value for key, value in lines.items()})

    parameters = [
        _option("id", "ID", "A short name for this connection.", required=True),
        _option("label", "TEXT", "A name for people."),
        _option("owner", "SENDER-IDS", "Sender ids that count as the owner, separated by commas."),
    ]
    for secret in channel.secrets:
        again = " Repeatable: one for each workspace." if secret.many else ""
        for kind, metavar, text in (("env", "VAR", "variable"), ("file", "PATH", "file")):
            text = f"Read the {secret.label} from this {text}.{again}"
            parameters.append(_option(f"{secret.option}-{kind}", metavar, text, many=secret.many))
    for name, field in channel.settings.model_fields.items():
        option = (field.alias or name).replace("_", "-")
        parameters.append(_option(option, "VALUE", field.description or f"Default: {field.default}."))
    add_connection.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return add_connection


def _option(name: str, metavar: str, text: str, *, required: bool = False, many: bool = False) -> inspect.Parameter:
    option = typer.Option(f"--{name}", metavar=metavar, help=text)
    annotation: object = Annotated[str, option] if required else Annotated[str | None, option]
    if many:
        annotation = Annotated[list[str] | None, option]
    default = inspect.Parameter.empty if required else None
    return inspect.Parameter(  # the prefix lets an option be called `from`
        "o_" + name.replace("-", "_"), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _add(channel: Channel, given: dict[str, str]) -> None:
    connection_id = given["id"]
    names = [field.alias or name for name, field in channel.settings.model_fields.items()]
    raw: dict[str, JsonValue] = {name: given[name] for name in names if name in given}
    values = {s.name: v for s in channel.secrets if (v := _read_secret(s, given)) is not None}

    async def work(where: Settings, ledger: Ledger) -> Connection:
        from gateway.vault import load_vault

        try:
            connection = make_connection(
                channel,
                connection_id,
                raw,
                frozenset(values),
                before=next((c for c in await ledger.connections() if c.id == connection_id), None),
                label=given.get("label", ""),
                owners=[o.strip() for o in given.get("owner", "").split(",") if o.strip()],
            )
        except ConnectionInvalid as error:
            if error.field:
                message = error.message.replace(error.field, f"--{error.field.replace('_', '-')}", 1)
                raise ConnectionInvalid(message, fix="See the command's --help.") from error
            raise
        vault = load_vault(where.key_path)
        await ledger.put_connection(connection, {name: vault.seal(value) for name, value in values.items()})
        return connection

    connection = with_ledger(work)
    err.print(f"Added {channel.label} connection '{connection.id}'.")
    err.print(f"  next: postroom connection check {connection.id}")
    err.print(f"        postroom route deploy --connection {connection.id} --agent AGENT")


def _read_secret(secret: Secret, given: dict[str, str]) -> str | None:
    """The secret, asked for where no option gives it; of `many`, all of them, a line each."""
    key = secret.option.replace("-", "_")
    variables, paths = given.get(f"{key}_env", ""), given.get(f"{key}_file", "")
    if variables or paths:
        values = [*map(_from_variable, variables.splitlines()), *map(_from_file, paths.splitlines())]
        return "\n".join(values)
    if not secret.required:
        return None
    if not sys.stdin.isatty():
        raise SecretMissing(
            f"The {secret.label} is missing.",
            fix=f"Give it with --{secret.option}-env VAR or --{secret.option}-file PATH.",
        )
    value = str(typer.prompt(secret.label, hide_input=True)).strip()
    if not value:
        raise SecretMissing(f"No {secret.label}: nothing was typed.")
    return value


def _from_variable(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise SecretMissing(f"The variable {variable} is not set or empty.", fix=f"Set {variable}.")
    return value


def _from_file(path: str) -> str:
    try:
        value = Path(path).expanduser().read_text().strip()
    except OSError as error:
        raise SecretMissing(f"{path} can't be read: {error.strerror}.", fix="Check the path.") from error
    if not value:
        raise SecretMissing(f"{path} is empty.", fix="Put the secret there.")
    return value
