"""`postroom backup` and `restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output import err, print_json
from gateway.cli.support import Json
from gateway.settings import Settings

File = Annotated[Path, typer.Argument(metavar="FILE", help="A .tar.gz.")]


def backup(
    file: File,
    with_key: Annotated[bool, typer.Option("--with-key", help="The vault's key too: then guard the file.")] = False,
    json: Json = False,
) -> None:
    """Write the home into one file while everything goes on: ledger, agents, files. Without the vault's key."""
    from gateway.backup import back_up

    kept = back_up(Settings.from_env(), file.absolute(), with_key=with_key)
    if json:
        print_json({"file": str(file), "files": kept.files, "counts": {**kept.counts}})
        return
    err.print(f"Wrote {file}: {kept.counts['messages']} messages, {kept.files} files.")
    if not with_key:
        err.print("The vault's key is not in it: keep POSTROOM_KEY, or the home's key file, somewhere else.")


def restore(file: File, json: Json = False) -> None:
    """Bring a backup back into a home without a ledger; nothing is put in place unless all of it is right."""
    from gateway.backup import restore as bring_back

    settings = Settings.from_env()
    kept = bring_back(settings, file.absolute())
    if json:
        print_json({"home": str(settings.home), "files": kept.files, "counts": {**kept.counts}})
        return
    err.print(f"Restored {settings.home}: {kept.counts['messages']} messages, {kept.files} files.")
    if not kept.with_key:
        err.print("Set POSTROOM_KEY, or put the key file back, before `postroom up`.")
