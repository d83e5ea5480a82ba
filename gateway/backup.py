"""Backups of a home while it is in use, and bringing one back: checked by digests and counts on both ways."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from channels.errors import PostroomError
from gateway.settings import Settings

FORMAT = 1
INDEX = "backup.json"
LEDGER = "ledger.db"

PARTS = ("agents", "kept", "attachments", "inbox", "state")
"""Folders of a home that belong to a backup beside the ledger."""

COUNTED = ("conversations", "messages", "deliveries", "sessions", "runs", "connections", "routes")


class BackupInvalid(PostroomError):
    """The file is no backup, or not the one that was written."""

    code = "backup_invalid"


class HomeInUse(PostroomError):
    """There is a ledger already where the backup would go."""

    code = "home_in_use"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a backup holds: rows by table, and how many files."""

    counts: dict[str, int]
    files: int
    with_key: bool


def back_up(settings: Settings, target: Path, *, with_key: bool = False) -> Kept:
    """Write a backup; a gateway may go on working meanwhile. The vault's key is left out unless asked for.

    The ledger is one snapshot; files are copied after it, so that what it refers to is there.
    """
    digests: dict[str, str] = {}
    unfinished = target.with_name(f".{target.name}.writing")
    try:
        with tempfile.TemporaryDirectory() as folder, tarfile.open(unfinished, "w:gz", compresslevel=3) as archive:
            unfinished.chmod(0o600)
            snapshot = Path(folder) / LEDGER
            counts = _snapshot(settings, snapshot)
            _add(archive, snapshot, LEDGER, digests)
            for part in PARTS:
                for path in sorted((settings.home / part).rglob("*")):
                    if path.is_file() and not path.is_symlink():
                        _add(archive, path, str(path.relative_to(settings.home)), digests)
            if with_key:
                _add(archive, settings.key_path, "key", digests)
            index = {"format": FORMAT, "at": time.time(), "counts": counts, "digests": digests}
            data = json.dumps(index).encode()
            info = tarfile.TarInfo(INDEX)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return Kept(counts, len(digests), with_key)


def restore(settings: Settings, source: Path) -> Kept:
    """Bring a backup back into a home that has no ledger. All of it is checked before anything is put in place.

    Raises BackupInvalid or HomeInUse, and then the home is as it was.
    """
    if settings.ledger_path.exists():
        raise HomeInUse(
            f"There is a ledger in {settings.home}.",
            fix="Stop the gateway and move that folder away, or set POSTROOM_HOME to a new one.",
        )
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=settings.home, prefix=".restoring-") as folder:
        found = Path(folder)
        kept = _unpacked(source, found)
        for path in sorted(found.iterdir()):
            target = settings.home / path.name
            if target.exists() and path.name != LEDGER:
                _merge(path, target)
            else:
                path.rename(target)
    settings.ledger_path.chmod(0o600)
    if kept.with_key:
        settings.key_path.chmod(0o600)
    return kept


def _snapshot(settings: Settings, target: Path) -> dict[str, int]:
    ledger = settings.ledger_path
    if settings.database_url:
        from gateway.ledger.copying import database_to_embedded

        database_to_embedded(settings.database_url, target)
        return _counts(target)
    if not ledger.is_file():
        raise BackupInvalid(f"There is no ledger at {ledger}.", fix="Set POSTROOM_HOME to the home to back up.")
    with closing(sqlite3.connect(ledger, timeout=30)) as db:
        db.execute("VACUUM INTO ?", (str(target),))
    return _counts(target)


def _counts(ledger: Path) -> dict[str, int]:
    with closing(sqlite3.connect(ledger)) as db:
        if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            raise BackupInvalid("The ledger in it is damaged.", fix="Use an older backup.")
        return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in COUNTED}  # noqa: S608


def _add(archive: tarfile.TarFile, path: Path, name: str, digests: dict[str, str]) -> None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return  # taken away since it was listed
    digests[name] = hashlib.sha256(data).hexdigest()
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), 0o600, int(path.stat().st_mtime)
    archive.addfile(info, io.BytesIO(data))


def _unpacked(source: Path, folder: Path) -> Kept:
    try:
        with tarfile.open(source, "r:gz") as archive:
            archive.extractall(folder, filter="data")
        index = json.loads((folder / INDEX).read_text())
        (folder / INDEX).unlink()
        digests: dict[str, str] = index["digests"]
        there = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
        same = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in there.items()}
    except (OSError, ValueError, KeyError, tarfile.TarError, EOFError) as error:
        raise BackupInvalid(f"{source} is not a whole backup.", fix="Use another file.") from error
    if index.get("format") != FORMAT or same != digests:
        raise BackupInvalid(f"{source} is not what was written.", fix="Use another file.")
    counts = _counts(folder / LEDGER)
    if counts != index["counts"]:
        raise BackupInvalid("The ledger in it has other rows than were counted.", fix="Use another file.")
    return Kept(counts, len(digests), "key" in digests)


def _merge(source: Path, target: Path) -> None:
    """Put a folder's files over those that are there; what the backup doesn't have stays."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)
