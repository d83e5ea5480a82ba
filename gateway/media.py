"""Files for providers that fetch what is sent: served from the store, each at a signed address that ends.

An address holds all there is to know (which file, as what, under which name, since when), sealed with the vault's key:
nothing is stored for it, nobody can make or change one, and it outlives a restart.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import structlog
from aiohttp import web
from pydantic import BaseModel, Field, ValidationError

from channels.message import Attachment
from gateway.attachments import Attachments
from gateway.vault import Vault, VaultSealBroken

log = structlog.get_logger()

LIFETIME = 24 * 3600
"""Seconds an address is good for. A provider fetches within moments; one whose queue is long may take hours."""

NAME_MAX = 20
"""Characters of a name that Twilio shows as it is: no spaces, and hardly any special ones."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex",
}
"""A file may be whatever a stranger sent: no browser may run it here, and nobody keep it."""


class _Ticket(BaseModel, extra="forbid", frozen=True):
    """What an address says. The vault's other seals hold secrets, and never read as this."""

    media: str = Field(pattern=r"^[0-9a-f]{64}$")
    type: str
    name: str


class Media:
    """Makes addresses of stored files under a public URL, and answers for them."""

    def __init__(self, vault: Vault, store: Attachments, public_url: str, now: Callable[[], float] = time.time) -> None:
        self._vault = vault
        self._store = store
        self._public_url = public_url
        self._now = now

    def url(self, file: Attachment) -> str:
        """A fresh address of a file in the store, for whoever has it."""
        name = plain_name(file.name)
        ticket = _Ticket(media=Path(file.path or "").name, type=file.media_type, name=name)
        sealed = self._vault.seal(ticket.model_dump_json(), now=self._now())
        return f"{self._public_url}/media/{sealed.decode()}/{quote(name)}"

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Answer GET and HEAD of one address: the file, or 404 for anything that isn't a good one."""
        try:
            sealed = request.match_info["ticket"].encode()
            ticket = _Ticket.model_validate_json(self._vault.open(sealed, lifetime=LIFETIME, now=self._now()))
        except (VaultSealBroken, ValidationError):
            log.warning("media_refused")
            return web.Response(status=404)
        if request.match_info["name"] != ticket.name:
            return web.Response(status=404)
        log.info("media_fetched", name=ticket.name, method=request.method)
        shown = {"Content-Type": ticket.type, "Content-Disposition": f'inline; filename="{ticket.name}"'}
        return web.FileResponse(self._store.path(ticket.media), headers={**HEADERS, **shown})


def plain_name(name: str) -> str:
    """A file's name as Twilio shows it: at most twenty letters, digits, dots, dashes and underscores."""
    path = PurePosixPath(name)
    suffix = re.sub(r"[^A-Za-z0-9.]", "", path.suffix)[:8]
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-")
    return f"{stem[: NAME_MAX - len(suffix)].strip('-') or 'file'}{suffix}"
