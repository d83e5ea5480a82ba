"""Received files: kept once by content, and laid into the inbox of their conversation."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import filetype
import structlog

from channels.adapter import Adapter
from channels.errors import PostroomError
from channels.message import Attachment, Conversation, InboundMessage

log = structlog.get_logger()

MAX_BYTES = 20_000_000
"""The largest file that is fetched: what Telegram lets a bot download."""

SNIFFED = 8192
"""Bytes from the start that say what a file is; `filetype` looks at no more."""

TRIES = 2


@dataclass(frozen=True, slots=True)
class Kept:
    """A file in the store. `media_type` is read from its content, never from what the sender said."""

    digest: str
    path: Path
    size: int
    media_type: str
    extension: str


class Attachments:
    """The store under the home folder: `attachments/` by digest, `inbox/` by conversation (hard links, no copies)."""

    def __init__(self, home: Path) -> None:
        self._files = home / "attachments"
        self._inboxes = home / "inbox"

    def inbox(self, conversation: Conversation) -> Path:
        """The folder of files received in a conversation."""
        plain = re.sub(r"[^A-Za-z0-9]+", "-", conversation.key)[:40].strip("-")
        return self._inboxes / f"{plain}-{hashlib.sha256(conversation.key.encode()).hexdigest()[:12]}"

    def path(self, digest: str) -> Path:
        """Where the file with that content lies."""
        return self._files / digest[:2] / digest

    async def fetch(self, adapter: Adapter, message: InboundMessage, *, only_images: bool = False) -> InboundMessage:
        """The message with its attachments fetched: each has a `path` in the inbox, or says in `name` why it hasn't.

        `only_images` leaves alone what the channel doesn't call an image.
        """
        if not message.attachments:
            return message
        inbox = self.inbox(message.conversation)
        fetched = [
            await self._one(adapter, a, inbox, f"{message.id}-{n}") if _is_image(a) or not only_images else a
            for n, a in enumerate(message.attachments)
        ]
        return replace(message, attachments=tuple(fetched))

    async def _one(self, adapter: Adapter, attachment: Attachment, inbox: Path, stem: str) -> Attachment:
        for attempt in range(1, TRIES + 1):
            try:
                kept = await self.keep(adapter.fetch(attachment, MAX_BYTES))
            except PostroomError as error:
                log.warning("attachment_not_fetched", attempt=attempt, code=error.code, error=str(error))
                if attempt == TRIES or error.code == "fetch_refused":
                    return replace(attachment, name=f"{attachment.name} (not available: {error.message})".strip())
                continue
            name = await asyncio.to_thread(_lay, kept, inbox, stem)
            return replace(attachment, path=f"inbox/{name}", media_type=kept.media_type, size=kept.size)
        return attachment

    async def keep(self, chunks: AsyncIterator[bytes]) -> Kept:
        """Stream a file to disk and give it its content's name. A file that is there already is not written again."""
        self._files.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest, size, head = hashlib.sha256(), 0, b""
        descriptor, temporary = tempfile.mkstemp(dir=self._files)
        try:
            with os.fdopen(descriptor, "wb") as file:
                async for chunk in chunks:
                    digest.update(chunk)
                    size += len(chunk)
                    head = head or chunk[:SNIFFED]
                    file.write(chunk)
            path = self.path(digest.hexdigest())
            path.parent.mkdir(exist_ok=True)
            os.replace(temporary, path)  # noqa: PTH105 - instant, on one file system
        except BaseException:
            os.unlink(temporary)  # noqa: PTH108 - instant
            raise
        media_type, extension = sniff(head)
        return Kept(digest.hexdigest(), path, size, media_type, extension)


def sniff(head: bytes) -> tuple[str, str]:
    """A file's media type and extension by its first bytes; text where it reads as text."""
    guess = filetype.guess(head)
    if guess is not None:
        return guess.mime, guess.extension
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4 or len(head) < SNIFFED:
            return "application/octet-stream", "bin"
    return ("application/octet-stream", "bin") if b"\0" in head else ("text/plain", "txt")


def _is_image(attachment: Attachment) -> bool:
    return attachment.kind == "image" or attachment.media_type.startswith("image/")


def _lay(kept: Kept, inbox: Path, stem: str) -> str:
    inbox.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = f"{stem}.{kept.extension}"
    with suppress(FileExistsError):  # a turn that is tried again finds its files there
        os.link(kept.path, inbox / name)
    return name
