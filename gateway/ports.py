"""An address that can't be listened on."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from channels.errors import PostroomError


class PortTaken(PostroomError):
    """The address is in use, or is not one of this machine."""

    code = "port_taken"

    def __init__(self, host: str, port: int, error: OSError) -> None:
        super().__init__(
            f"Port {port} on {host} can't be used: {error.strerror or error}.",
            fix="Stop what uses it, or pick another --port.",
        )


def is_local(host: str) -> bool:
    """Whether a host's name is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def in_the_clear(url: str) -> bool:
    """Whether an address leads over a network without TLS."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_local(parts.hostname or "")
