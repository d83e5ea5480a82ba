"""Small files that only their owner may read, put in place whole."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from agents_runtime.tree import sync_folder


def write_private(path: Path, text: str, *, replace: bool) -> None:
    """Put a whole 0600 file there at once, on disk when this returns, with its folder if need be.

    Without `replace`, one that another process put there first stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}-{secrets.token_hex(6)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            fresh.replace(path)
        else:
            with suppress(FileExistsError):
                path.hardlink_to(fresh)
    finally:
        fresh.unlink(missing_ok=True)
    sync_folder(path.parent)


def open_mode(path: Path) -> int:
    """The file's or folder's mode where others than its owner may do anything with it, else 0. Raises OSError."""
    mode = stat.S_IMODE(path.stat().st_mode)
    return mode if mode & 0o077 else 0
