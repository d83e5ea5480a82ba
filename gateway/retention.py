"""Retention: what is older than the owner wants to keep goes, a little at a time, while everything else goes on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import structlog

from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings

log = structlog.get_logger()

DAY = 86_400.0

EVERY = 3600.0
"""Seconds between two times that old rows are looked for."""

AT_ONCE = 200
"""Rows of a kind in one transaction: messages that arrive meanwhile wait for milliseconds."""


async def keep_to(settings: Settings, ledger: Ledger) -> None:
    """Prune now and every hour, until cancelled. Does nothing where everything is kept."""
    while settings.retention_days:
        try:
            await prune_once(settings, ledger, time.time() - settings.retention_days * DAY)
        except LedgerUnavailable as error:
            log.warning("not_pruned", error=str(error))
        await asyncio.sleep(EVERY)


async def prune_once(settings: Settings, ledger: Ledger, before: float) -> int:
    """Drop everything from before that time. Returns how many rows and files went."""
    gone = 0
    while step := (await ledger.prune(before, AT_ONCE)).rows:
        gone += step
        await asyncio.sleep(0)
    gone += await asyncio.to_thread(_prune_files, settings.home, before)
    if gone:
        log.info("pruned", rows_and_files=gone)
    return gone


def _prune_files(home: Path, before: float) -> int:
    """Received files that are old, first out of the inboxes, then what no inbox has any more out of the store."""
    gone = 0
    for folder, kept_while_linked in (("inbox", False), ("attachments", True)):
        for path in (home / folder).rglob("*"):
            status = path.lstat()
            if not path.is_file() or status.st_mtime >= before or (kept_while_linked and status.st_nlink > 1):
                continue
            path.unlink()
            gone += 1
    return gone
