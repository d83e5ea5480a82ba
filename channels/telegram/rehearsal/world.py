"""The people, chats and messages of a rehearsed Telegram."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from channels.telegram.rehearsal.errors import ApiError, bad_request

Json = dict[str, Any]

FAR = 5_000_000_000
"""Ids of people are above 32 bits, as real ones can be."""


@dataclass(slots=True)
class Chat:
    """One chat. `barred` is the 403 that every call to it gets; `moved_to` the supergroup it became."""

    info: Json
    next_message: int = 1
    messages: dict[int, Json] = field(default_factory=dict[int, Json])
    topics: set[int] = field(default_factory=set[int])
    barred: str = ""
    moved_to: int | None = None


class World:
    """Everything the server remembers."""

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
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, tuple[str, bytes]] = {}
        self.queries: set[str] = set()
        self._serial = 0

    def person(self, name: str) -> Json:
        """A user with an id of their own, the same for the same name."""
        number = FAR + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
        handle = "".join(c for c in name.lower() if c.isascii() and c.isalnum())
        user: Json = {"id": number, "is_bot": False, "first_name": name, "language_code": "en"}
        return {**user, "username": f"{handle}_user"} if len(handle) >= 3 else user

    def private(self, user: Mapping[str, Any]) -> Chat:
        """The private chat with a user."""
        info = {k: user[k] for k in ("id", "first_name", "username") if k in user}
        return self.chats.setdefault(user["id"], Chat({**info, "type": "private"}))

    def shared(self, name: str, kind: str) -> Chat:
        """A group, supergroup, forum or channel by its name or its id."""
        try:
            number = int(name)
        except ValueError:
            digest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
            number = -digest if kind == "group" else -1_000_000_000_000 - digest
        info: Json = {"id": number, "title": name, "type": "supergroup" if kind == "forum" else kind}
        if kind == "forum":
            info["is_forum"] = True
        return self.chats.setdefault(number, Chat(info))

    def chat(self, chat_id: Any) -> Chat:
        """The chat a call names. Raises ApiError in Telegram's words."""
        try:
            chat = self.chats[int(chat_id)]
        except (KeyError, TypeError, ValueError):
            raise bad_request("chat not found") from None
        if chat.moved_to is not None:
            raise bad_request("group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.moved_to)
        if chat.barred:
            raise ApiError(403, f"Forbidden: {chat.barred}")
        return chat

    def post(self, chat: Chat, content: Mapping[str, Any]) -> Json:
        """Put a message into a chat."""
        number = chat.next_message
        chat.next_message += 1
        message: Json = {"message_id": number, "date": int(time.time()), "chat": chat.info, **content}
        chat.messages[number] = message
        return message

    def keep_file(self, name: str, content: bytes) -> str:
        """Store a file; its file_id."""
        file_id = f"file{self.serial()}"
        self.files[file_id] = (name, content)
        return file_id

    def serial(self) -> int:
        """A number never given before."""
        self._serial += 1
        return self._serial


def measured(kind: str, file: Json) -> Any:
    """A file with the measures that its kind always has; of a photo, its sizes, which have no name."""
    frame = {"width": 800, "height": 800}
    if kind == "photo":
        sized = {name: value for name, value in file.items() if name != "file_name"}
        return [{**sized, "width": 90, "height": 90}, {**sized, **frame}]
    sticker: Json = {"type": "regular", "is_animated": False, "is_video": False}
    measures = {
        "document": {},
        "sticker": {**frame, **sticker},
        "audio": {"duration": 1},
        "voice": {"duration": 1},
    }
    return {**file, **measures.get(kind, {**frame, "duration": 1})}
