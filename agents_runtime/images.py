"""The images of a conversation: shown to a model as they are, stored as a line that names the file.

Imports pydantic_ai, so it is imported only by what runs a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TypeGuard

from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, TextContent, UserContent, UserPromptPart

from channels.message import InboundMessage

MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What Anthropic and OpenAI take, in the words of their guides to vision."""

MOST = 10
"""Images in one request. From 21 on, Anthropic refuses any that is wider or higher than 2,000 pixels."""

TOGETHER = 20_000_000
"""Bytes of all images in one request: as base64 27 MB, where Anthropic takes requests of 32 MB and OpenAI of 50 MB."""

AGAIN = 3
"""An image is shown with the message it came with, and again in so many exchanges after it: people ask on."""

TOKENS = 1_600
"""About what one image costs: Anthropic scales a larger one down to this, OpenAI to less than that for most models."""

WRONG_TYPE = "models take PNG, JPEG, GIF and WebP"
NO_ROOM = f"only the newest {MOST} images and {TOGETHER // 1_000_000} MB are"
UNREADABLE = "the file can't be read"

PATH, MEDIA_TYPE = "image", "mediaType"
"""What the line that stands for an image in a stored history knows of it; no model is told."""


@dataclass(slots=True)
class Room:
    """What still fits into a request."""

    images: int = MOST
    size: int = TOGETHER

    def take(self, size: int) -> bool:
        """Take the room for an image of so many bytes, if there is any."""
        if self.images < 1 or size > self.size:
            return False
        self.images -= 1
        self.size -= size
        return True


@dataclass(slots=True)
class Seen:
    """The images of a turn in the order they came, and each that is not shown: its path and why."""

    images: list[BinaryContent] = field(default_factory=list[BinaryContent])
    unseen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def content(self, text: str) -> str | list[UserContent]:
        """What the model is shown: the images, then the text, which says of the others that they are not shown."""
        whole = "\n".join([text, *(_missing(path, why) for path, why in self.unseen)])
        return [*self.images, whole] if self.images else whole

    @property
    def notes(self) -> list[str]:
        """The same for the run's record."""
        return [f"{path} was not shown to the model: {why}." for path, why in self.unseen]


async def see(messages: Sequence[InboundMessage], inbox: Path | None, room: Room) -> Seen:
    """The images that came with a turn's messages, read from the inbox; the newest where there isn't room for all."""
    seen = Seen()
    for attachment in reversed([a for m in messages for a in m.attachments]):
        if inbox is None or not attachment.path or not attachment.media_type.startswith("image/"):
            continue
        found = await _read(attachment.path, attachment.media_type, inbox, room)
        if isinstance(found, str):
            seen.unseen.insert(0, (attachment.path, found))
        else:
            seen.images.insert(0, found)
    return seen


async def see_again(before: Sequence[ModelMessage], inbox: Path | None, room: Room) -> list[ModelMessage]:
    """A stored history with the images of its last exchanges in their places; the newest where there isn't room."""
    found: dict[str, BinaryContent] = {}
    for item in reversed([item for message in _recent(before) for item in _items(message)]):
        if inbox is not None and isinstance(item, TextContent):
            image = await _read(item.metadata[PATH], item.metadata[MEDIA_TYPE], inbox, room)
            if isinstance(image, BinaryContent):
                found[image.identifier] = image
    return [
        _changed(m, lambda i: found.get(i.metadata[PATH], i.content) if isinstance(i, TextContent) else i)
        for m in before
    ]


def named(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages as they are stored: in place of each image a line with its name, for `see_again`."""
    return [_changed(m, lambda i: _named(i) if isinstance(i, BinaryContent) else i) for m in messages]


def up_to(messages: Sequence[ModelMessage], largest: int) -> list[ModelMessage]:
    """The messages with no image of more than so many bytes: a line of text is in its place. 0 leaves none."""
    return [_changed(m, lambda i: _missing(i.identifier) if _too_large(i, largest) else i) for m in messages]


def too_large(messages: Sequence[ModelMessage], largest: int) -> list[str]:
    """The paths of the images of more than so many bytes."""
    return [i.identifier for m in messages for i in _items(m) if _too_large(i, largest)]


def has_images(messages: Sequence[ModelMessage]) -> bool:
    """Whether an image is among the messages."""
    return any(isinstance(item, BinaryContent) for m in messages for item in _items(m))


async def _read(path: str, media_type: str, inbox: Path, room: Room) -> BinaryContent | str:
    """The image, or why it is not shown."""
    if media_type not in MEDIA_TYPES:
        return WRONG_TYPE
    file = inbox / PurePath(path).name
    try:
        if not room.take((await asyncio.to_thread(file.stat)).st_size):
            return NO_ROOM
        return BinaryContent(await asyncio.to_thread(file.read_bytes), media_type=media_type, identifier=path)
    except OSError:
        return UNREADABLE


def _recent(before: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """The last exchanges whose images are shown again."""
    starts = [n for n, message in enumerate(before) if any(isinstance(p, UserPromptPart) for p in message.parts)]
    return before[starts[-AGAIN] :] if len(starts) > AGAIN else before


def _items(message: ModelMessage) -> list[UserContent]:
    """What a message shows beside plain text."""
    prompts = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
    return [item for content in prompts if not isinstance(content, str) for item in content]


def _changed(message: ModelMessage, change: Callable[[UserContent], UserContent]) -> ModelMessage:
    """The message with its content changed; what is only text then is one text, as every model takes it."""
    if not isinstance(message, ModelRequest) or not _items(message):
        return message
    return replace(message, parts=[_part(p, change) if isinstance(p, UserPromptPart) else p for p in message.parts])


def _part(part: UserPromptPart, change: Callable[[UserContent], UserContent]) -> UserPromptPart:
    if isinstance(part.content, str):
        return part
    items = [change(item) for item in part.content]
    texts = [item for item in items if isinstance(item, str)]
    return replace(part, content="\n".join(texts) if len(texts) == len(items) else items)


def _too_large(item: UserContent, largest: int) -> TypeGuard[BinaryContent]:
    return isinstance(item, BinaryContent) and (largest == 0 or len(item.data) > largest)


def _named(image: BinaryContent) -> TextContent:
    metadata = {PATH: image.identifier, MEDIA_TYPE: image.media_type}
    return TextContent(f"[{image.identifier} was shown here]", metadata=metadata)


def _missing(path: str, why: str = "") -> str:
    return f"[{path} is not shown{f': {why}' if why else ''}]"
