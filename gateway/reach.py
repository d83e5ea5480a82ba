"""Whether a connection's public webhook address leads to this gateway, by asking it."""

from __future__ import annotations

import aiohttp

from channels.adapter import Finding

SECONDS = 10.0

UNSIGNED = "verification_failed"
"""What the gateway answers a request at an open connection's address that isn't the provider's."""


async def reach(hook_url: str) -> Finding:
    """Send an unsigned request to the address: a gateway that has the connection open refuses it in its own words."""
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(hook_url, allow_redirects=False) as response,
        ):
            status, code = response.status, await _code(response)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return _not_reached(f"From this machine the public address can't be reached: {type(error).__name__}.")
    if code == UNSIGNED:
        return Finding("hook", True, "The public address leads to this connection at a running gateway.")
    if code == "hook_unknown":
        return _not_reached("The public address leads to a gateway that doesn't have this connection open.")
    return _not_reached(f"The public address answers {status}, which is not a gateway's answer.")


def _not_reached(message: str) -> Finding:
    return Finding(
        "hook",
        False,
        message,
        "Make sure that `postroom up` is running and that POSTROOM_PUBLIC_URL leads to its port.",
    )


async def _code(response: aiohttp.ClientResponse) -> str:
    """The code of a gateway's error, or an empty string."""
    try:
        return str((await response.json(content_type=None))["error"]["code"])
    except (LookupError, TypeError, ValueError):
        return ""
