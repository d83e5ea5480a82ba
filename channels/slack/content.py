"""What a Slack message carries besides its frame: text, quoted messages, files."""

from __future__ import annotations

from channels.message import Attachment, AttachmentKind
from channels.slack.account import Json
from channels.slack.text import plain

GONE = {"tombstone", "hidden_by_limit"}
"""Modes of a file that is named but no longer there."""

KINDS: dict[str, AttachmentKind] = {"image": "image", "audio": "audio", "video": "video"}


def text_of(message: Json, bot: str) -> str:
    """The text, with the messages that were forwarded in it; of a message without text, what is attached to it."""
    text = str(message.get("text") or "")
    quoted = [_quoted(a, bot) for a in message.get("attachments") or () if a.get("is_share") or not text]
    return "\n\n".join(part for part in (plain(text, bot), *quoted) if part)


def attachments(message: Json) -> tuple[Attachment, ...]:
    """The files. A file of a shared channel may come with its id alone; `provider_ref` is that id."""
    return tuple(_attachment(file) for file in message.get("files") or () if file.get("mode") not in GONE)


def _quoted(attachment: Json, bot: str) -> str:
    text = plain(str(attachment.get("text") or attachment.get("fallback") or ""), bot)
    author = plain(str(attachment.get("author_name") or ""))
    return f"{author}: {text}" if author and text else text


def _attachment(file: Json) -> Attachment:
    media_type = str(file.get("mimetype") or "")
    kind = KINDS.get(media_type.partition("/")[0], "document")
    size = file.get("size")
    return Attachment(
        kind="voice" if file.get("subtype") == "slack_audio" else kind,
        provider_ref=str(file["id"]),
        media_type=media_type,
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
        name=str(file.get("name") or file.get("title") or ""),
    )
