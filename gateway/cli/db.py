"""`postroom db`: the ledger's database."""

from __future__ import annotations

import typer

from channels.errors import PostroomError
from gateway.cli.output import err, print_json
from gateway.cli.support import Json
from gateway.settings import Settings

app = typer.Typer(no_args_is_help=True, help="The ledger's database.")


class NoDatabase(PostroomError):
    """There is nowhere to copy to."""

    code = "no_database"


@app.command()
def copy(json: Json = False) -> None:
    """Copy the embedded ledger of this home into POSTROOM_DATABASE_URL, an empty database. Stop the gateway first."""
    from gateway.ledger.copying import embedded_to_database

    settings = Settings.from_env()
    if not settings.database_url:
        raise NoDatabase("POSTROOM_DATABASE_URL is not set.", fix="Set it to the PostgreSQL database to copy to.")
    if not settings.ledger_path.exists():
        raise NoDatabase(f"There is no ledger at {settings.ledger_path}.", fix="Set POSTROOM_HOME to the home to copy.")
    counts = embedded_to_database(settings.ledger_path, settings.database_url)
    if json:
        print_json({"counts": {**counts}})
        return
    err.print(f"Copied {sum(counts.values())} rows, {counts['messages']} of them messages; counts and digests agree.")
    err.print("From now on every `postroom` command with POSTROOM_DATABASE_URL works on the database.")
