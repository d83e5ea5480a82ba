"""The address of a link as Telegram keeps it."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")
_HOST = re.compile(r"^[^\s/?#]+\.[^\s/?#.]{2,}(?::\d+)?(?=[/?#]|$)")
_BARE = re.compile(r"^(https?://[^/?#]+)")


def checked(address: str) -> str:
    """The address, a bare host made a web address; empty where it is none, and then there is no link."""
    if not _SCHEME.match(address):
        if not _HOST.match(address):
            return ""
        address = f"http://{address}"
    found = _BARE.match(address)
    if found and not address.startswith("/", found.end()):
        address = f"{found[1]}/{address[found.end() :]}"
    return address
