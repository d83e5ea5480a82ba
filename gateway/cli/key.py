"""`postroom key`: the key that seals the secrets, and how it is changed."""

from __future__ import annotations

from dataclasses import asdict

import typer

from gateway.cli.output import err, out, print_json
from gateway.cli.support import Json, with_ledger

app = typer.Typer(help="Print a new vault key, or change the one in use.")


@app.callback(invoke_without_command=True)
def key(context: typer.Context) -> None:
    """Print a new vault key for POSTROOM_KEY, or change the one in use."""
    from gateway.vault import new_key

    if context.invoked_subcommand is None:
        out.print(new_key())


@app.command("rotate")
def rotate(json: Json = False) -> None:
    """Seal every secret with a new key, in one go, while the gateway works on. Older keys go on opening."""
    from gateway import keyring

    done = with_ledger(keyring.rotate)
    if json:
        print_json(asdict(done))
        return
    err.print(f"{done.secrets} secret(s) are sealed with the newest key; {done.older_keys} older key(s) are kept.")
    err.print("After a day, when console logins and file addresses made before have ended: postroom key retire")


@app.command("retire")
def retire(json: Json = False) -> None:
    """Do without the older keys: from now on the newest alone opens anything."""
    from gateway import keyring

    done = with_ledger(keyring.retire)
    if json:
        print_json(asdict(done))
        return
    if done.from_env and done.older_keys:
        err.print("Nothing needs the older keys any more: leave the first one in POSTROOM_KEY and restart the gateway.")
    else:
        err.print(f"{done.secrets} secret(s) are sealed with the newest key, and there is no other one.")
    err.print("Backups made before the rotation still need the key of their time.")
