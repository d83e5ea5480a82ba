"""Writes that end a piece of work: what was done is done, so they wait until the ledger takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec

import structlog

from gateway.ledger.errors import LedgerUnavailable

P = ParamSpec("P")

log = structlog.get_logger()

FIRST_WAIT = 0.25
LONGEST_WAIT = 5.0
"""Seconds between tries."""


async def until_written(write: Callable[P, Awaitable[None]], *args: P.args, **kwargs: P.kwargs) -> None:
    """Write as soon as the ledger can. Raises what else the write raises: LeaseLost once another worker took over.

    A write whose answer was lost is written again; the ledger's fences see to it that it counts once.
    """
    wait = FIRST_WAIT
    while True:
        try:
            return await write(*args, **kwargs)
        except LedgerUnavailable as error:
            log.warning("not_written_yet", error=str(error), again_in=wait)
        await asyncio.sleep(wait)
        wait = min(LONGEST_WAIT, wait * 2)
