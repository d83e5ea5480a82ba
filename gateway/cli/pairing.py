"""`postroom pairing`: strangers who were told a code, and letting them in."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import JsonValue

from gateway.cli.output import err, listing
from gateway.cli.support import Json, with_ledger
from gateway.ledger.errors import NotFound
from gateway.ledger.pairing import Pairing
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from gateway.times import iso

app = typer.Typer(help="Strangers who were told a code, on routes with --access pairing.", no_args_is_help=True)

Code = Annotated[str, typer.Argument(metavar="CODE", help="What the stranger was told.")]


@app.command("list")
def list_pairings(json: Json = False) -> None:
    """List those who wait to be let in."""

    async def work(_settings: Settings, ledger: Ledger) -> list[dict[str, JsonValue]]:
        return [
            {
                "code": p.code,
                "connection": p.connection_id,
                "route": p.route_id,
                "sender": p.sender_id,
                "name": p.name,
                "expiresAt": iso(p.expires_at),
            }
            for p in await ledger.pairings()
        ]

    columns = {
        "code": "CODE",
        "name": "NAME",
        "sender": "SENDER",
        "connection": "CONNECTION",
        "route": "ROUTE",
        "expiresAt": "UNTIL",
    }
    listing(with_ledger(work), as_json=json, columns=columns, empty="Nobody waits to be let in.")


@app.command()
def approve(code: Code) -> None:
    """Let the stranger with this code in, on the route that they wrote to."""

    async def work(_settings: Settings, ledger: Ledger) -> Pairing:
        from routes.pairing import decide_admit

        found = await _find(ledger, code)
        await ledger.change_routes(decide_admit(found.route_id, found.sender_id))
        return await ledger.settle_pairing(found.code)

    done = with_ledger(work)
    err.print(f"{done.name or done.sender_id} may use route '{done.route_id}' from now on.")


@app.command()
def refuse(code: Code) -> None:
    """Forget a code. Its stranger is told another when they write again."""

    async def work(_settings: Settings, ledger: Ledger) -> Pairing:
        return await ledger.settle_pairing((await _find(ledger, code)).code)

    done = with_ledger(work)
    err.print(f"{done.name or done.sender_id} was not let in.")


@app.command()
def revoke(
    route: Annotated[str, typer.Option("--route", metavar="ID", help="The route.")],
    sender: Annotated[str, typer.Option("--sender", metavar="ID", help="The person's id there.")],
) -> None:
    """Take somebody off a route's list again."""

    async def work(_settings: Settings, ledger: Ledger) -> None:
        from routes.pairing import decide_dismiss

        await ledger.change_routes(decide_dismiss(route, sender))

    with_ledger(work)
    err.print(f"{sender} may no longer use route '{route}'.")


async def _find(ledger: Ledger, code: str) -> Pairing:
    """The open one, however its code was typed."""
    wanted = "".join(c for c in code.upper() if c.isalnum())
    for each in await ledger.pairings():
        if each.code == wanted:
            return each
    raise NotFound(f"There is no open pairing '{code}'.", fix="See what waits: postroom pairing list")
