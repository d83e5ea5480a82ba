"""One worker to a ledger: an operating-system lock beside the file, which no crash can leave behind."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.ledger.errors import LedgerInUse


@contextmanager
def worker_lock(path: Path) -> Iterator[None]:
    """Be the one worker on the ledger at `path`. Raises LedgerInUse where another process is."""
    beside = _beside(path)
    beside.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(file, 32).decode("ascii", "replace").strip()
            who = f"Process {holder}" if holder else "Another process"
            raise LedgerInUse(
                f"{who} already works on {path}.",
                fix="Stop it first, or start this one with another POSTROOM_HOME. Commands work beside it as they are.",
            ) from None
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield
    finally:
        os.close(file)


def has_worker(path: Path) -> bool:
    """Whether a process works on the ledger at `path`."""
    try:
        file = os.open(_beside(path), os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")
