"""Files over Twilio: what it takes, and a message with one as a call. Twilio fetches a file from an address of ours.

Types and sizes from Twilio's "Accepted content types for media" and "Guidance on WhatsApp media messages", and for MMS
beside pictures from its advice on carriers, which refuse what is larger.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from channels.adapter import Call, FileLimits
from channels.message import Attachment

MEDIA = "media"
"""The parameter of a call that stands for a file: its address is made when the call is sent."""

NO_ADDRESS = "POSTROOM_PUBLIC_URL is not set, and Twilio fetches files from there"

_OFFICE = "application/vnd.openxmlformats-officedocument."

WHATSAPP = FileLimits(
    sizes=(
        *((kind, 5_000_000) for kind in ("image/jpeg", "image/png")),
        *((f"audio/{kind}", 16_000_000) for kind in ("ogg", "amr", "3gpp", "aac", "mpeg")),
        *((kind, 16_000_000) for kind in ("video/mp4", "text/vcard", "application/pdf", "application/msword")),
        *((_OFFICE + kind, 16_000_000) for kind in ("wordprocessingml", "presentationml", "spreadsheetml.sheet")),
    )
)

MMS = FileLimits(
    sizes=(
        *((kind, 5_000_000) for kind in ("image/jpeg", "image/png", "image/gif")),
        *((f"image/{kind}", 600_000) for kind in ("bmp", "tiff")),
        *((f"audio/{kind}", 600_000) for kind in ("mp4", "mpeg", "ogg", "3gpp", "aac", "amr", "webm")),
        *((f"video/{kind}", 600_000) for kind in ("mp4", "mpeg", "quicktime", "webm", "3gpp")),
        *((f"text/{kind}", 600_000) for kind in ("vcard", "x-vcard", "csv", "rtf", "calendar")),
        *((kind, 600_000) for kind in ("application/pdf", "application/msword", "application/vnd.ms-", _OFFICE)),
    )
)

REFUSALS = frozenset({"21612", "21620", "21621", "21623", "11751", "12300"})
"""Refusals of a file alone: the number has no MMS or can't reach this person with one, or the file isn't liked."""


def limits(of_channel: FileLimits, *, reachable: bool) -> FileLimits:
    """What may be sent on a connection: nothing where Twilio can't fetch it."""
    return of_channel if reachable else replace(of_channel, unavailable=NO_ADDRESS)


def messages(
    files: Sequence[Attachment],
    texts: Sequence[str],
    address: dict[str, JsonValue],
    person: str,
    *,
    caption_max: int,
    captioned: Collection[str] | None = None,
) -> list[Call]:
    """The calls that send files, one each, then texts. A lone short text goes along with the last file.

    `captioned` are the media types that can carry a text, None for all.
    """
    going = [file for file in files if file.path]
    caption = ""
    takes_text = bool(going) and (captioned is None or going[-1].media_type in captioned)
    if takes_text and len(texts) == 1 and len(texts[0]) <= caption_max:
        caption, texts = texts[0], ()
    calls = [_file(file, caption if file is going[-1] else "", address, person) for file in going]
    return [*calls, *(Call("messages.create", {**address, "body": text}, chat_id=person) for text in texts)]


def without_file(call: Call) -> Call:
    """A call with a line of text in place of its file, for when Twilio doesn't take that."""
    params = {name: value for name, value in call.params.items() if name != MEDIA}
    media = call.params[MEDIA]
    params["body"] = media["instead"] if isinstance(media, dict) else ""
    return replace(call, params=params)


def attachment(media: JsonValue) -> Attachment:
    """The file that a call's parameter stands for."""
    told = media if isinstance(media, dict) else {}
    return Attachment(
        kind="document",
        path=str(told.get("path", "")),
        name=str(told.get("name", "")),
        media_type=str(told.get("type", "")),
    )


def _file(file: Attachment, caption: str, address: dict[str, JsonValue], person: str) -> Call:
    name = file.name or Path(file.path or "").name
    instead = "\n\n".join(part for part in (caption, f"({name[:40]} could not be sent.)") if part)
    media: JsonValue = {"path": file.path, "name": name, "type": file.media_type, "instead": instead}
    body: dict[str, JsonValue] = {"body": caption} if caption else {}
    return Call("messages.create", {**address, **body, MEDIA: media}, chat_id=person)
