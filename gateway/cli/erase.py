"""`postroom erase`: one person's data, on request."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from channels.errors import PostroomError
from gateway.cli.output import err, print_json
from gateway.cli.support import Json, find_connection, with_ledger
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings


class NotConfirmed(PostroomError):
    """Nobody said yes."""

    code = "not_confirmed"


def erase(
    connection: Annotated[str, typer.Option("--connection", metavar="ID", help="On this connection.")],
    sender: Annotated[str, typer.Option("--sender", metavar="ID", help="The person's id there.")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    json: Json = False,
) -> None:
    """Erase what a person wrote, what was said to them, their files and the agents' state about them, for good."""
    if not yes and not (sys.stdin.isatty() and typer.confirm(f"Erase everything of {sender} on {connection}?")):
        raise NotConfirmed("Nothing was erased.", fix="Give --yes.")

    async def work(settings: Settings, ledger: Ledger) -> dict[str, int]:
        from gateway.erasing import erase_person

        await find_connection(ledger, connection)
        report = await erase_person(settings, ledger, connection, sender)
        return {
            "messages": report.messages,
            "conversations": report.conversations,
            "files": report.files,
            "states": report.states,
        }

    done = with_ledger(work)
    if json:
        print_json({**done})
    else:
        err.print(
            f"Erased {done['messages']} messages, {done['conversations']} private conversations, {done['files']} files "
            f"and {done['states']} folders of state. Backups made before still have them."
        )
