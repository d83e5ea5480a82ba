"""The machine: room on the disk, open files, a place for temporary files, and who runs this."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from pathlib import Path

from channels.adapter import Finding
from gateway.settings import Settings

LOW_DISK = 1_000_000_000
"""Bytes free below which accepting messages is at risk."""

LOW_INODES = 10_000
"""Free files below which the same holds: SQLite makes and drops small ones."""

FEW_FILES = 1024
"""Open files that a busy gateway comes near: webhooks, provider connections and the ledger together."""


def about_machine(settings: Settings) -> list[Finding]:
    """What the process stands on."""
    place = _nearest(settings.home)
    return [_disk(place), _inodes(place), _files(), _temporary(), _who()]


def _disk(place: Path) -> Finding:
    free = shutil.disk_usage(place).free
    return Finding("disk", free > LOW_DISK, f"{free / 1e9:.1f} GB are free.", "" if free > LOW_DISK else "Make room.")


def _inodes(place: Path) -> Finding:
    room = os.statvfs(place)
    low = room.f_files > 0 and room.f_favail < LOW_INODES
    if not low:
        return Finding("inodes", True, "The file system has room for more files.")
    text = f"The file system takes only {room.f_favail} more files."
    return Finding("inodes", False, text, "Remove small files that nobody needs.")


def _files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = soft != resource.RLIM_INFINITY and soft < FEW_FILES
    fix = f"Raise it where the gateway is started: ulimit -n {FEW_FILES * 4}" if few else ""
    amount = "any number of" if soft == resource.RLIM_INFINITY else str(soft)
    return Finding("open_files", not few, f"A process may have {amount} files open.", fix)


def _temporary() -> Finding:
    try:
        with tempfile.TemporaryFile():
            return Finding("temporary_files", True, f"Temporary files go to {tempfile.gettempdir()}.")
    except OSError as error:
        text = f"No temporary file can be written: {error.strerror or error}."
        return Finding("temporary_files", False, text, "Set TMPDIR to a folder that can be written to.")


def _who() -> Finding:
    if os.geteuid():
        return Finding("user", True, "Runs as a user of its own.")
    return Finding("user", True, "Runs as root, and needn't.", "Run it as a user of its own: see docs/deploying.md.")


def _nearest(home: Path) -> Path:
    """The home, or the folder it would be made in."""
    return next(place for place in (home, *home.parents) if place.exists())
