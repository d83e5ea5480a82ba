"""What a Telegram message carries besides its frame: text, files, and the things that are neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from channels.message import Attachment, AttachmentKind
from channels.telegram.entities import Entity

FILES: dict[str, AttachmentKind] = {
    "animation": "animation",  # comes with a document of the same file: named first
    "document": "document",
    "audio": "audio",
    "voice": "voice",
    "video": "video",
    "video_note": "video",
    "sticker": "sticker",
}
TYPES = {"voice": "audio/ogg", "video_note": "video/mp4", "photo": "image/jpeg"}


def text_of(message: Mapping[str, Any]) -> tuple[str, Sequence[Entity]]:
    """The text or caption with its entities; a location, contact, poll or dice in words where there is none."""
    if "text" in message:
        return str(message["text"]), message.get("entities", ())
    if "caption" in message:
        return str(message["caption"]), message.get("caption_entities", ())
    return _words(message), ()


def attachments(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """The file of a message; of a photo's sizes, the largest."""
    if message.get("photo"):
        largest = max(message["photo"], key=lambda size: int(size["width"]) * int(size["height"]))
        return (_attachment("image", "photo", largest),)
    for name, kind in FILES.items():
        if name in message:
            return (_attachment(kind, name, message[name]),)
    return ()


def data_of(message: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Location, venue, contact, poll and dice as they came."""
    return {name: message[name] for name in ("location", "venue", "contact", "poll", "dice") if name in message}


def _attachment(kind: AttachmentKind, name: str, file: Mapping[str, Any]) -> Attachment:
    size = file.get("file_size")
    return Attachment(
        kind=kind,
        provider_ref=str(file["file_id"]),
        media_type=str(file.get("mime_type", TYPES.get(name, ""))),
        size=size if isinstance(size, int) else None,
        name=str(file.get("file_name", "")),
    )


def _words(message: Mapping[str, Any]) -> str:
    if "venue" in message:
        venue = message["venue"]
        return f"Location: {venue['title']}, {venue['address']} ({_point(venue['location'])})"
    if "location" in message:
        return f"Location: {_point(message['location'])}"
    if "contact" in message:
        contact = message["contact"]
        name = " ".join(part for part in (contact.get("first_name"), contact.get("last_name")) if part)
        return f"Contact: {name}, {contact['phone_number']}"
    if "poll" in message:
        options = ", ".join(str(option["text"]) for option in message["poll"]["options"])
        return f"Poll: {message['poll']['question']} ({options})"
    if "dice" in message:
        return f"{message['dice']['emoji']} {message['dice']['value']}"
    if "sticker" in message:
        return str(message["sticker"].get("emoji", ""))
    return ""


def _point(location: Mapping[str, Any]) -> str:
    return f"{float(location['latitude'])}, {float(location['longitude'])}"
