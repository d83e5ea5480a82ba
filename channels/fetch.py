"""Fetching a file from an address that a message brought: the one guard against being sent somewhere private."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from channels.errors import PostroomError

MAX_HOPS = 5
CHUNK = 64 * 1024
TIMEOUT = aiohttp.ClientTimeout(total=120, connect=5, sock_read=30)


class FetchRefused(PostroomError):
    """The address may not be fetched, or what it answers is not the file."""

    code = "fetch_refused"


class FetchFailed(PostroomError):
    """The file could not be fetched this time."""

    code = "fetch_failed"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a file is. `auth` headers go to `auth_hosts` only, and along no redirect.

    `trusted` are host:port pairs of our own configuration.

    A trusted host (the configured base URL of a provider's API) may be private; any other must be public on every hop.
    """

    url: str
    auth: Mapping[str, str]
    auth_hosts: frozenset[str] = frozenset()
    trusted: frozenset[str] = frozenset()
    refuse_types: frozenset[str] = frozenset()


def place_of(url: str) -> str:
    """A URL's host:port."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


async def fetch(source: Source, max_bytes: int) -> AsyncIterator[bytes]:
    """The file in chunks, redirects followed by hand. Raises FetchRefused or FetchFailed."""
    url = source.url
    connector = aiohttp.TCPConnector(resolver=_PublicResolver(_names(source.trusted)))
    try:
        async with aiohttp.ClientSession(connector=connector, timeout=TIMEOUT) as session:
            for hop in range(MAX_HOPS):
                host = _check(url, source.trusted)
                headers = dict(source.auth) if hop == 0 and host in source.auth_hosts else {}
                async with session.get(url, headers=headers, allow_redirects=False) as response:
                    if response.status in {301, 302, 303, 307, 308} and "Location" in response.headers:
                        url = urljoin(url, response.headers["Location"])
                        continue
                    async for chunk in _body(response, source, max_bytes):
                        yield chunk
                    return
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise FetchFailed(f"The file could not be fetched: {type(error).__name__}.") from error
    raise FetchRefused("The file's address redirects too often.")


async def _body(response: aiohttp.ClientResponse, source: Source, max_bytes: int) -> AsyncIterator[bytes]:
    if response.status != 200:
        raise FetchFailed(f"The file's address answered {response.status}.")
    if response.content_type in source.refuse_types:
        raise FetchRefused(f"The address answered a {response.content_type} page instead of the file.")
    if (response.content_length or 0) > max_bytes:
        raise FetchRefused(f"The file is larger than {max_bytes} bytes.")
    total = 0
    async for chunk in response.content.iter_chunked(CHUNK):
        total += len(chunk)
        if total > max_bytes:
            raise FetchRefused(f"The file is larger than {max_bytes} bytes.")
        yield chunk


def _check(url: str, trusted: frozenset[str]) -> str:
    """The host:port of an address that may be asked, or FetchRefused."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise FetchRefused("The file's address is not a web address.") from error
    name = parts.hostname or ""
    place = f"{name}:{port}"
    if place in trusted:
        return place
    if parts.scheme != "https" or parts.username is not None:
        raise FetchRefused("Only https addresses without a password are fetched.")
    if _is_private(name):
        raise FetchRefused("The file's address is on a private network.")
    return place


def _is_private(host: str) -> bool:
    """Whether a literal address is anything but public; a name is looked up later."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return not host
    mapped = getattr(address, "ipv4_mapped", None)
    return not (mapped or address).is_global or (mapped or address).is_multicast


def _names(trusted: frozenset[str]) -> frozenset[str]:
    return frozenset(place.rpartition(":")[0] for place in trusted)


class _PublicResolver(AbstractResolver):
    """Looks names up, and gives back public addresses only: what is checked is what is connected to."""

    def __init__(self, trusted: frozenset[str]) -> None:
        self._trusted = trusted
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if host in self._trusted:
            return found
        public = [r for r in found if not _is_private(r["host"])]
        if not public:
            raise FetchRefused("The file's address leads to a private network.")
        return public

    async def close(self, *_: Any) -> None:
        await self._inner.close()
