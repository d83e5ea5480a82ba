"""Fetching what a message brings, as Twilio does it: HEAD, GET, and every reason not to take it."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
import filetype

from channels.rehearsal.journal import seen

TIMEOUT = aiohttp.ClientTimeout(total=15, connect=5)

WHATSAPP_MAX, MMS_MAX, PICTURE_MAX = 16_000_000, 5_000_000, 5_000_000

WHATSAPP_TYPES = {
    *("image/jpeg", "image/png", "image/webp", "video/mp4", "text/vcard"),
    *("audio/ogg", "audio/amr", "audio/3gpp", "audio/aac", "audio/mpeg"),
    *("application/pdf", "application/msword"),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
MMS_TYPES = (WHATSAPP_TYPES - {"image/webp"}) | {
    *("image/gif", "image/bmp", "image/tiff", "audio/mp4", "audio/webm"),
    *("video/mpeg", "video/quicktime", "video/webm", "video/3gpp"),
    *("text/x-vcard", "text/csv", "text/rtf", "text/calendar"),
    *("application/vnd.ms-excel", "application/vnd.ms-powerpoint"),
}


class Unfetchable(Exception):
    """Twilio could not take the file: its error code, as the status callback tells it."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


async def fetch(url: str, *, whatsapp: bool) -> dict[str, Any]:
    """One file as it arrived. Raises Unfetchable."""
    unreachable, unsupported = (63019, 63021) if whatsapp else (11200, 12300)
    try:
        async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
            async with session.head(url, allow_redirects=True) as head:
                announced = head.status, head.headers.get("Content-Type"), head.headers.get("Content-Length")
            async with session.get(url) as response:
                content = await _body(response)
                told = response.status, response.headers.get("Content-Type"), response.headers.get("Content-Length")
                shown = response.content_disposition
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise Unfetchable(unreachable) from error
    if told[0] != 200 or announced != told or not content:
        raise Unfetchable(unreachable)
    media_type = (told[1] or "").partition(";")[0].strip().lower()
    real = filetype.guess_mime(content)
    if media_type not in (WHATSAPP_TYPES if whatsapp else MMS_TYPES) or real not in (None, media_type):
        raise Unfetchable(unsupported)
    picture = whatsapp and media_type.startswith("image/")
    if len(content) > (PICTURE_MAX if picture else WHATSAPP_MAX if whatsapp else MMS_MAX):
        raise Unfetchable(11751)
    name = (shown.filename if shown else None) or unquote(urlsplit(url).path.rpartition("/")[2])
    return seen(name, media_type, content)


async def _body(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > WHATSAPP_MAX:
            break
    return bytes(content)
