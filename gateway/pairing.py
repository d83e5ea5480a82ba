"""Codes for strangers: short, good for an hour, and so many at once that nobody can fill the owner's list."""

from __future__ import annotations

import secrets
import time

from channels.message import Sender
from gateway.ledger.pairing import Pairing
from gateway.ledger.protocol import Ledger
from routes.route import Route

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""Without those that are taken for one another."""

LENGTH = 8
GOOD_FOR = 3600.0
"""Seconds."""

OPEN_AT_MOST = 100
"""Codes that are open on one connection; further strangers get none until some are settled or over."""


async def offer(ledger: Ledger, route: Route, sender: Sender, *, again: bool) -> str | None:
    """A code for a stranger; None where they have one already, unless it is to be told `again`, or too many wait."""
    code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    name = sender.name or sender.handle
    pairing = Pairing(code, route.connection_id, route.id, sender.id, name, time.time() + GOOD_FOR)
    if await ledger.ask_to_pair(pairing, OPEN_AT_MOST):
        return code
    if again:
        for known in await ledger.pairings():
            if (known.route_id, known.sender_id) == (route.id, sender.id):
                return known.code
    return None
