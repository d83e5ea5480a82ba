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
    "live_photo": "video",  # in paid media; anywhere else its still picture comes beside it
}
TYPES = {"voice": "audio/ogg", "video_note": "video/mp4", "photo": "image/jpeg"}


DATA = ("location", "venue", "contact", "poll", "checklist", "dice")
"""What is told in words, and kept as it came."""

NAMED = ("game", "invoice", "story", "giveaway", "giveaway_winners", "paid_media")
"""What is only named, with its title if it has one."""

SERVICE = frozenset({
    "boost_added", "channel_chat_created", "chat_background_set", "chat_owner_changed", "chat_owner_left",
    "chat_shared", "checklist_tasks_added", "checklist_tasks_done", "connected_website", "delete_chat_photo",
    "direct_message_price_changed", "forum_topic_closed", "forum_topic_created", "forum_topic_edited",
    "forum_topic_reopened", "general_forum_topic_hidden", "general_forum_topic_unhidden", "gift", "gift_upgrade_sent",
    "giveaway_completed", "giveaway_created", "group_chat_created", "left_chat_member", "managed_bot_created",
    "message_auto_delete_timer_changed", "migrate_from_chat_id", "migrate_to_chat_id", "new_chat_members",
    "new_chat_photo", "new_chat_title", "paid_message_price_changed", "passport_data", "pinned_message",
    "poll_option_added", "poll_option_deleted", "proximity_alert_triggered", "refunded_payment", "successful_payment",
    "suggested_post_approval_failed", "suggested_post_approved", "suggested_post_declined", "suggested_post_paid",
    "suggested_post_refunded", "supergroup_chat_created", "unique_gift", "users_shared", "video_chat_ended",
    "video_chat_participants_invited", "video_chat_scheduled", "video_chat_started", "web_app_data",
    "write_access_allowed",
})  # fmt: skip
"""Messages that nobody wrote: something happened in the chat."""

MOVES = {"migrate_to_chat_id": "moved_to", "migrate_from_chat_id": "moved_from"}


def text_of(message: Mapping[str, Any]) -> tuple[str, Sequence[Entity]]:
    """The text or caption with its entities; a location, contact, poll or dice in words where there is none."""
    if "text" in message:
        return str(message["text"]), message.get("entities", ())
    if "caption" in message:
        return str(message["caption"]), message.get("caption_entities", ())
    return _words(message), ()


def attachments(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """The file of a message, or the files of one that is paid for; of a photo's sizes, the largest."""
    if message.get("photo"):
        largest = max(message["photo"], key=lambda size: int(size["width"]) * int(size["height"]))
        return (_attachment("image", "photo", largest),)
    if "paid_media" in message:
        return tuple(file for item in message["paid_media"]["paid_media"] for file in attachments(item))
    for name, kind in FILES.items():
        if name in message:
            return (_attachment(kind, name, message[name]),)
    return ()


def data_of(message: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Location, venue, contact, poll, checklist and dice as they came."""
    return {name: message[name] for name in DATA if name in message}


def event_of(message: Mapping[str, Any]) -> dict[str, JsonValue]:
    """What happened, of a service message, and where to or from a group moved; nothing where somebody wrote."""
    event = next((name for name in message if name in SERVICE), None)
    if event is None:
        return {}
    moves: dict[str, JsonValue] = {
        ours: str(int(message[theirs])) for theirs, ours in MOVES.items() if theirs in message
    }
    return {"event": event, **moves}


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
    if "checklist" in message:
        tasks = ", ".join(str(task["text"]) for task in message["checklist"]["tasks"])
        return f"Checklist: {message['checklist']['title']} ({tasks})"
    if "dice" in message:
        return f"{message['dice']['emoji']} {message['dice']['value']}"
    if "sticker" in message:
        return str(message["sticker"].get("emoji", ""))
    named = next((name for name in NAMED if name in message), None)
    if named is None:
        return ""
    title = str(message[named].get("title", ""))
    return ": ".join(part for part in (named.replace("_", " ").capitalize(), title) if part)


def _point(location: Mapping[str, Any]) -> str:
    return f"{float(location['latitude'])}, {float(location['longitude'])}"
