"""The home folder: who can read what is in it, and whether it can be written to."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from builder_skill.system_skill import installed
from channels.adapter import Finding
from gateway.places import declared_places
from gateway.private_file import open_mode
from gateway.settings import Settings

PRIVATE = ("key", "access-token", "ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db.lock")
"""Files of a home that only their owner may read."""

LEFT_AFTER = 3600.0
"""Seconds after which an unfinished file belongs to no process that is still at work."""

UNFINISHED = (".restoring-*", ".*.writing", "*.writing", ".key-*", ".access-token-*")

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "glusterfs", "afs"})
"""File systems on which SQLite's locks and shared memory can't be trusted (https://sqlite.org/wal.html)."""


def about_home(settings: Settings) -> list[Finding]:
    """Every check of the folder."""
    home = settings.home
    if not home.is_dir():
        return [Finding("home", False, f"There is no home folder {home} yet.", "Run: postroom init")]
    return [
        _mode(home),
        _owner(home),
        _writable(home),
        _file_system(settings),
        *_private(home),
        _agents(settings),
        *_declared(settings),
        _unfinished(home),
        _builder(home),
    ]


def unfinished(home: Path) -> Iterator[Path]:
    """What an interrupted write left, long enough ago."""
    before = time.time() - LEFT_AFTER
    for pattern in UNFINISHED:
        yield from (path for path in home.glob(pattern) if path.lstat().st_mtime < before)


def open_files(home: Path) -> Iterator[Path]:
    """The private files that others can read."""
    for name in PRIVATE:
        path = home / name
        if path.is_file() and open_mode(path):
            yield path


def _mode(home: Path) -> Finding:
    mode = open_mode(home)
    fix = f"Run: chmod 700 '{home}'" if mode else ""
    return Finding("home", not mode, f"The home folder is {home}{', and others can look into it' * bool(mode)}.", fix)


def _owner(home: Path) -> Finding:
    owner, me = home.stat().st_uid, os.geteuid()
    if owner == me or not me:
        return Finding("home_owner", True, "It belongs to who runs this.")
    text = f"It belongs to user {owner}, and this runs as {me}."
    return Finding("home_owner", False, text, f"Run as its owner, or: chown -R {me} '{home}'")


def _writable(home: Path) -> Finding:
    probe = home / f".probe-{os.getpid()}"
    try:
        probe.write_bytes(b"")
    except OSError as error:
        text = f"Nothing can be written there: {error.strerror or error}."
        return Finding("home_writable", False, text, "Mount it for writing, or set POSTROOM_HOME to another folder.")
    probe.unlink(missing_ok=True)
    return Finding("home_writable", True, "It can be written to.")


def _file_system(settings: Settings) -> Finding:
    kind = _kind(settings.home)
    if kind not in NETWORK or settings.database_url:
        return Finding("file_system", True, f"The file system is {kind or 'not known'}.")
    fix = "Keep the home on a disk of this machine, or set POSTROOM_DATABASE_URL."
    return Finding("file_system", False, f"The embedded ledger lies on {kind}, where its locks can fail.", fix)


def _kind(home: Path) -> str:
    """The type of the file system, where the kernel tells: the mount with the longest path above the home."""
    try:
        rows = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    above = [(len(row[1]), row[2]) for row in rows if len(row) > 2 and home.resolve().is_relative_to(row[1])]
    return max(above, default=(0, ""))[1]


def _private(home: Path) -> Iterator[Finding]:
    seen = [*open_files(home)]
    if not seen:
        yield Finding("private_files", True, "Key, tokens and ledger can be read by their owner alone.")
    for path in seen:
        text = f"Others can read {path.name} (mode {open_mode(path):o})."
        yield Finding("private_files", False, text, f"Run: chmod 600 '{path}'")


def _agents(settings: Settings) -> Finding:
    if settings.agents_dir.is_dir():
        return Finding("agents_folder", True, "There is a place for agents.")
    return Finding("agents_folder", False, "There is no place for agents.", f"Run: mkdir '{settings.agents_dir}'")


def _declared(settings: Settings) -> Iterator[Finding]:
    for folder in declared_places(settings):
        if not folder.is_dir():
            text = f"A postroom.yaml named agents in {folder}, and that is gone."
            yield Finding("declared_folder", False, text, "Bring it back, or apply a file without it: postroom apply")


def _unfinished(home: Path) -> Finding:
    left = [*unfinished(home)]
    if not left:
        return Finding("unfinished_files", True, "No interrupted write has left anything.")
    fix = f"Remove it: {left[0]}"
    return Finding("unfinished_files", True, f"{len(left)} interrupted write(s) left something behind.", fix)


def _builder(home: Path) -> Finding:
    names = [skill.name for skill in installed(home)]
    if not names:
        return Finding("builder_skill", False, "The builder's skill is missing or was changed.", "Run: postroom init")
    return Finding("builder_skill", True, f"System skill {', '.join(names)}: protected, not listed, not editable.")
