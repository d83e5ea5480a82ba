"""An address that can't be listened on."""

from __future__ import annotations

from ipaddress import ip_address

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
