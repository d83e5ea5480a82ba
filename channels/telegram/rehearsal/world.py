"""The people, chats, messages and files of a rehearsed Telegram."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from channels.telegram.rehearsal.errors import ApiError, bad_request

Json = dict[str, Any]

KEPT = 1_000
"""Messages that a chat remembers."""

FAR = 5_000_000_000
"""Ids of people are above 32 bits, as real ones can be."""

SUPERGROUP = -1_000_000_000_000
"""Ids of supergroups and channels are below this, those of groups above."""

BLOCKED = "bot was blocked by the user"


@dataclass(slots=True)
class Chat:
    """One chat.

    `own` are the bot's messages, `standing` is what the bot is there; `barred` is the 403 that every call gets, and
    `moved_to` the supergroup it became. `reactions` are a person's by (message, person).
    """

    info: Json
    next_message: int = 1
    messages: dict[int, Json] = field(default_factory=dict[int, Json])
    own: set[int] = field(default_factory=set[int])
    topics: set[int] = field(default_factory=set[int])
    reactions: dict[tuple[int, int], list[Json]] = field(default_factory=dict[tuple[int, int], list[Json]])
    standing: str = "member"
    barred: str = ""
    moved_to: int | None = None

    @property
    def id(self) -> int:
        """The chat's number."""
        number: int = self.info["id"]
        return number

    @property
    def kind(self) -> str:
        """private, group, supergroup or channel."""
        return str(self.info["type"])


class World:
    """Everything the server remembers of people and what they said."""

    def __init__(self, token: str, username: str, *, sees_all: bool) -> None:
        self.bot: Json = {
            "id": int(token.partition(":")[0]),
            "is_bot": True,
            "first_name": "Rehearsal Bot",
            "username": username,
        }
        self.me: Json = {
            **self.bot,
            "can_join_groups": True,
            "can_read_all_group_messages": sees_all,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
        }
        self.sees_all = sees_all
        self.chats: dict[int, Chat] = {}
        self.people: dict[int, Json] = {}
        self.files: dict[str, tuple[str, bytes]] = {}
        self.paths: dict[str, str] = {}
        self.queries: set[str] = set()
        self.commands: list[Json] = []
        self._serial = 0

    def clear(self) -> None:
        """Forget everybody and everything."""
        for memory in (self.chats, self.people, self.files, self.paths, self.queries):
            memory.clear()
        self.commands = []

    def person(self, name: str) -> Json:
        """A user with an id of their own, the same for the same name."""
        number = FAR + _digest(name)
        handle = "".join(c for c in name.lower() if c.isascii() and c.isalnum())
        user: Json = {"id": number, "is_bot": False, "first_name": name, "language_code": "en"}
        if len(handle) >= 3:
            user["username"] = f"{handle[:27]}_user"
        return self.people.setdefault(number, user)

    def private(self, user: Mapping[str, Any]) -> Chat:
        """The private chat with a user."""
        info = {k: user[k] for k in ("id", "first_name", "username") if k in user}
        return self.chats.setdefault(user["id"], Chat({**info, "type": "private"}))

    def shared(self, name: str, kind: str) -> Chat:
        """A group, supergroup, forum or channel by its name or its id, made when it is new."""
        try:
            number = int(name)
        except ValueError:
            number = -_digest(name) if kind == "group" else SUPERGROUP - _digest(name)
        info: Json = {"id": number, "title": name, "type": "supergroup" if kind == "forum" else kind}
        if kind == "forum":
            info["is_forum"] = True
        return self.chats.setdefault(number, Chat(info))

    def chat(self, chat_id: Any) -> Chat:
        """The chat a call names. Raises ApiError in Telegram's words."""
        if chat_id is None or chat_id == "":
            raise bad_request("chat_id is empty")
        try:
            number = int(chat_id)
        except (TypeError, ValueError):
            raise bad_request("chat not found") from None
        chat = self.chats.get(number)
        if chat is None:
            if number in self.people:
                raise ApiError(403, "Forbidden: bot can't initiate conversation with a user")
            raise bad_request("chat not found")
        if chat.moved_to is not None:
            raise bad_request("group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.moved_to)
        if chat.barred:
            raise ApiError(403, f"Forbidden: {chat.barred}")
        return chat

    def message(self, params: Json, number: int, what: str) -> tuple[Chat, Json]:
        """The message a call names. Raises ApiError: `what` is "message to edit" and the like."""
        chat = self.chat(params.get("chat_id"))
        message = chat.messages.get(number)
        if message is None:
            raise bad_request(f"{what} not found")
        return chat, message

    def post(self, chat: Chat, content: Mapping[str, Any], *, own: bool = False) -> Json:
        """Put a message into a chat."""
        number = chat.next_message
        chat.next_message += 1
        message: Json = {"message_id": number, "date": int(time.time()), "chat": chat.info, **content}
        chat.messages[number] = message
        if len(chat.messages) > KEPT:
            oldest = next(iter(chat.messages))
            del chat.messages[oldest]
            chat.own.discard(oldest)
        if own:
            chat.own.add(number)
        return message

    def keep_file(self, name: str, content: bytes) -> str:
        """Store a file; its file_id."""
        digest = hashlib.sha256(f"{self.serial()} {name}".encode()).digest()
        file_id = "AgACAgQAAxkBAAI" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
        self.files[file_id] = (name, content)
        return file_id

    def file(self, file_id: str) -> Json:
        """A File object without its path."""
        unique = base64.urlsafe_b64encode(hashlib.sha256(file_id.encode()).digest()[:11]).decode().rstrip("=")
        return {"file_id": file_id, "file_unique_id": unique, "file_size": len(self.files[file_id][1])}

    def path(self, file_id: str) -> str:
        """Where a file can be fetched: a name of the server's own, as at Telegram."""
        name = self.files[file_id][0]
        kind = (mimetypes.guess_type(name)[0] or "").partition("/")[0]
        folder = {"image": "photos", "audio": "music", "video": "videos"}.get(kind, "documents")
        suffix = PurePosixPath(name).suffix
        path = next((path for path, known in self.paths.items() if known == file_id), "")
        if not path:
            path = f"{folder}/file_{len(self.paths)}{suffix if suffix.isascii() and suffix[1:].isalnum() else ''}"
            self.paths[path] = file_id
        return path

    def serial(self) -> int:
        """A number never given before."""
        self._serial += 1
        return self._serial


def bare(message: Json) -> Json:
    """A message as another one shows that it answers: without what it answers itself."""
    return {name: value for name, value in message.items() if name != "reply_to_message"}


def measured(kind: str, file: Json) -> Any:
    """A file with the measures that its kind always has; of a photo, its sizes, which have no name."""
    frame = {"width": 800, "height": 800}
    if kind == "photo":
        sized = {name: value for name, value in file.items() if name not in ("file_name", "mime_type")}
        return [{**sized, "width": 90, "height": 90}, {**sized, **frame}]
    sticker: Json = {"type": "regular", "is_animated": False, "is_video": False}
    measures = {
        "document": {},
        "sticker": {**frame, **sticker},
        "audio": {"duration": 1},
        "voice": {"duration": 1},
        "video_note": {"length": 240, "duration": 1},
    }
    if kind in ("sticker", "voice", "video_note"):
        file = {name: value for name, value in file.items() if name != "file_name"}
    return {**file, **measures.get(kind, {**frame, "duration": 1})}


def _digest(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
