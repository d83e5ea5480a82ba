"""The address of a link as Telegram keeps it."""

from __future__ import annotations

import re

SCHEMES = frozenset({"http", "https", "tg", "ton", "tonsite"})

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://")
_OWN = re.compile(r"^(?:tg|ton|tonsite):", re.IGNORECASE)
_HOST = re.compile(r"^(?:[^\s/?#@]*@)?[^\s/?#:@]+\.[^\s/?#.:@]{2,}(?::\d{1,5})?(?=[/?#]|$)")
_BARE = re.compile(r"^(https?://[^/?#]+)")


def checked(address: str) -> str:
    """The address, a bare host made a web address; empty where it is none, and then there is no link."""
    scheme = _SCHEME.match(address)
    if scheme is None:
        if _OWN.match(address):
            return address
        address = f"http://{address}"
    elif scheme[1].lower() not in SCHEMES:
        return ""
    elif scheme[1].lower() not in ("http", "https"):
        return address
    if not _HOST.match(address.partition("://")[2]):
        return ""
    found = _BARE.match(address)
    if found and not address.startswith("/", found.end()):
        address = f"{found[1]}/{address[found.end() :]}"
    return address
