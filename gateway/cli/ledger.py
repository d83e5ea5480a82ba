"""`postroom ledger`: whether what is stored is sound."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.markup import escape

from gateway.cli.output import err, out, print_json
from gateway.cli.support import Json, with_ledger

app = typer.Typer(no_args_is_help=True, help="The ledger: what is stored.")


@app.callback()
def _ledger() -> None:
    """The ledger: what is stored."""


@app.command()
def check(json: Json = False) -> None:
    """Read all of it, beside a running gateway, and tell what must never be there. Exits 1 when there is something."""
    faults = with_ledger(lambda _settings, ledger: ledger.faults())
    if json:
        print_json([asdict(fault) for fault in faults])
    for fault in faults if not json else ():
        out.print(
            f"[red]✗[/] {fault.code}: {escape(fault.message)} {fault.count} time(s), such as {escape(fault.sample)}"
        )
    if faults:
        err.print("Stop the gateway, keep a copy of the ledger as it is, and restore the last backup that has none.")
        raise typer.Exit(1)
    if not json:
        out.print("[green]✓[/] The ledger is sound.")
