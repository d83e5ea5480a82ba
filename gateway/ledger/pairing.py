"""A stranger with a code, who waits for the owner's word."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pairing:
    """One open request. `code` is what the stranger was told; after `expires_at` it is worth nothing."""

    code: str
    connection_id: str
    route_id: str
    sender_id: str
    name: str
    expires_at: float
