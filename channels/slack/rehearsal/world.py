"""One workspace: its people, conversations, messages and files, with ids that follow from their names."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
import time
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from channels.slack.rehearsal.errors import ApiError

Json = dict[str, Any]

CHANNEL_TYPES = {"dm": "im", "group": "channel", "private": "group", "mpim": "mpim"}
"""Kinds of conversation, and what Slack calls each in `channel_type`."""

_ID = re.compile(r"^[A-Z][A-Z0-9]{8,}$")
_TICK = 100
"""Microseconds between two timestamps at least."""


def identifier(prefix: str, name: str) -> str:
    """An id in Slack's shape that is always the same for a name; an id of that kind stays what it is."""
    if name[:1] == prefix and _ID.match(name):
        return name
    digest = hashlib.sha256(f"{prefix}/{name}".encode()).digest()
    return f"{prefix}0{base64.b32encode(digest).decode()[:9]}"


@dataclass(slots=True)
class Chat:
    """A conversation. `joined` tells whether the bot is in it; `messages` are by timestamp."""

    id: str
    kind: str
    name: str
    members: list[str]
    created: int
    joined: bool = True
    archived: bool = False
    ext_shared: bool = False
    messages: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(slots=True)
class File:
    """A file as Slack tells of it, and its bytes. `uploaded`: the bytes are there; `complete`: it can be seen."""

    info: Json
    length: int
    content: bytes = b""
    uploaded: bool = False
    complete: bool = False


class World:
    """One workspace in which the app is installed. The app is the same in all, its bot is another one in each.

    People and chats of the same name have the same ids in all of them: Slack doesn't promise that they differ.
    """

    def __init__(self, team: str, bot_name: str, *, first: bool = True) -> None:
        self.team, self.team_id = team, identifier("T", team)
        self.app_id = identifier("A", bot_name)
        bot = bot_name if first else f"{bot_name} of {team}"
        self.bot_id = identifier("B", bot)
        self.bot_name = bot_name
        self.users: dict[str, Json] = {}
        self.chats: dict[str, Chat] = {}
        self.files: dict[str, File] = {}
        self.bot = self.person(bot, is_bot=True)["id"]
        self._last = 0
        self._count = 0

    def forget(self) -> None:
        """Leave nothing but the bot."""
        self.users = {self.bot: self.users[self.bot]}
        self.chats.clear()
        self.files.clear()

    def serial(self) -> int:
        """A number that was not given before."""
        self._count += 1
        return self._count

    def ts(self) -> str:
        """A timestamp that is later than any before."""
        self._last = max(self._last + _TICK, time.time_ns() // 1000)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06}"

    def person(self, name: str, *, team_id: str = "", is_bot: bool = False) -> Json:
        """The user of this name or id, made when there is none."""
        user_id = identifier("U", name)
        if user_id not in self.users:
            self.users[user_id] = {
                "id": user_id,
                "team_id": team_id or self.team_id,
                "name": name.lower().replace(" ", "."),
                "deleted": False,
                "real_name": name,
                "tz": "Europe/Amsterdam",
                "tz_label": "Central European Time",
                "tz_offset": 3600,
                "profile": {"real_name": name, "display_name": name, "team": team_id or self.team_id},
                "is_bot": is_bot,
                "is_app_user": False,
                "updated": int(time.time()),
            }
        return self.users[user_id]

    def direct(self, user_id: str) -> Chat:
        """The direct messages of a user and the bot."""
        return self._chat(identifier("D", user_id), "dm", user_id, [user_id, self.bot])

    def shared(self, name: str, kind: str) -> Chat:
        """A conversation of several, by name or id. An `mpim` may have an id that starts with C, so here it does."""
        return self._chat(identifier("C", name.removeprefix("#")), kind, name.removeprefix("#"), [self.bot])

    def reached(self, channel: str) -> Chat:
        """The conversation a call names by id, `#name`, or the id of a user. Raises ApiError.

        A private conversation in which the bot isn't is not found.
        """
        if channel in self.users and channel != self.bot:
            return self.direct(channel)
        named = channel if channel in self.chats else identifier("C", channel.removeprefix("#"))
        chat = self.chats.get(named)
        if chat is None or not (chat.joined or chat.kind == "group"):
            raise ApiError("channel_not_found")
        return chat

    def post(self, chat: Chat, message: Json) -> Json:
        """Keep a message under a new timestamp."""
        ts = self.ts()
        chat.messages[ts] = {"type": "message", **message, "ts": ts}
        return chat.messages[ts]

    def own(self, **content: Any) -> Json:
        """What the bot says, before it has a timestamp."""
        profile = {
            "id": self.bot_id,
            "app_id": self.app_id,
            "name": self.bot_name,
            "team_id": self.team_id,
            "deleted": False,
            "updated": 1700000000,
        }
        who = {"user": self.bot, "bot_id": self.bot_id, "app_id": self.app_id, "team": self.team_id}
        return {**who, "bot_profile": profile, **content}

    def keep_file(self, url: str, name: str, *, user: str, media_type: str = "", content: bytes | None = None) -> File:
        """A file that is there, or one that waits for its bytes."""
        file_id = identifier("F", f"{name}/{self.serial()}")
        guessed = media_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        place = f"{url}/files-pri/{self.team_id}-{file_id}"
        info = {
            "id": file_id,
            "created": int(time.time()),
            "timestamp": int(time.time()),
            "name": name,
            "title": name,
            "mimetype": guessed,
            "filetype": PurePath(name).suffix.removeprefix(".") or "text",
            "pretty_type": guessed,
            "user": user,
            "user_team": self.team_id,
            "editable": False,
            "size": len(content or b""),
            "mode": "hosted",
            "is_external": False,
            "external_type": "",
            "is_public": False,
            "public_url_shared": False,
            "display_as_bot": user == self.bot,
            "username": "",
            "url_private": f"{place}/{name}",
            "url_private_download": f"{place}/download/{name}",
            "permalink": f"https://{self.team}.slack.com/files/{user}/{file_id}/{name}",
            "has_rich_preview": False,
            "file_access": "visible",
        }
        there = content is not None
        self.files[file_id] = File(info, len(content or b""), content or b"", there, there)
        return self.files[file_id]

    def _chat(self, chat_id: str, kind: str, name: str, members: list[str]) -> Chat:
        if chat_id not in self.chats:
            self.chats[chat_id] = Chat(chat_id, kind, name, members, int(time.time()))
        return self.chats[chat_id]
