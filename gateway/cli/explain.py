"""`postroom explain`: why a message went where it went."""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import JsonValue
from rich.markup import escape

from channels.errors import PayloadError
from gateway.cli.output import out, print_json
from gateway.cli.support import Json, Project, find_connection, with_ledger
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.explain import Step


def explain(
    message_id: Annotated[str | None, typer.Argument(metavar="MESSAGE-ID", help="A stored message.")] = None,
    connection: Annotated[str | None, typer.Option(metavar="ID", help="With --payload: whose it would be.")] = None,
    payload: Annotated[str | None, typer.Option(metavar="PATH", help="A provider's JSON; - is standard input.")] = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Show each decision about a stored message, or about a provider's payload, without sending anything."""
    if (message_id is None) == (payload is None) or (payload is not None and connection is None):
        raise typer.BadParameter("give a message id, or --connection with --payload")
    given = None if payload is None else _read(payload)

    async def work(settings: Settings, ledger: Ledger) -> list[Step]:
        from agents_runtime.registry import Registry
        from gateway.connections import open_connection
        from gateway.explain import explain_payload, explain_stored
        from gateway.places import agent_roots
        from gateway.vault import load_vault

        registry = Registry(agent_roots(settings, project))
        if message_id is not None:
            stored = await ledger.message(message_id)
            rows = await ledger.connections()
            own = next((c for c in rows if c.id == stored.message.connection_id), None)
            return await explain_stored(stored, own, ledger, registry)
        row = await find_connection(ledger, connection or "")
        opened = await open_connection(row, ledger, load_vault(settings.key_path), settings)
        async with opened.stack:
            await opened.adapter.check()  # learns who the bot is, which decides what is a mention
            return await explain_payload(opened, given or {}, ledger, registry)

    steps = with_ledger(work)
    if json:
        print_json([asdict(step) for step in steps])
        return
    for step in steps:
        out.print(f"[bold]{step.name}[/]: {escape(step.outcome)}")
        for name, value in step.facts.items():
            if value not in (None, [], "", False):
                out.print(f"    [dim]{name}[/] {escape(str(value))}")


def _read(path: str) -> dict[str, JsonValue]:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text()
        value = jsonlib.loads(text)
    except (OSError, ValueError) as error:
        raise PayloadError(
            f"The payload can't be read: {error}.", fix="Give a file with the provider's JSON."
        ) from error
    if not isinstance(value, dict):
        raise PayloadError("The payload is not a JSON object.", fix="Give what the provider posted, as it is.")
    return value
