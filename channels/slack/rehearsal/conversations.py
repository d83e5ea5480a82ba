"""The methods that tell of conversations and people."""

from __future__ import annotations

from typing import Any

from channels.slack.rehearsal.errors import ApiError, required
from channels.slack.rehearsal.method import Method, flag, page
from channels.slack.rehearsal.world import CHANNEL_TYPES, Chat, World

Json = dict[str, Any]

TYPES = {"public_channel": "group", "private_channel": "private", "mpim": "mpim", "im": "dm"}


class Conversations:
    """`conversations.*` and `users.*`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def methods(self) -> dict[str, Method]:
        """By name."""
        return {
            "conversations.list": Method(self.list, "channels:read", form=True),
            "conversations.info": Method(self.info, "channels:read", form=True),
            "conversations.members": Method(self.members, "channels:read", form=True),
            "conversations.history": Method(self.history, "channels:history", form=True),
            "conversations.replies": Method(self.replies, "channels:history", form=True),
            "conversations.open": Method(self.open, "im:write"),
            "users.info": Method(self.user, "users:read", form=True),
            "users.list": Method(self.users, "users:read", form=True),
        }

    async def list(self, params: Json) -> Json:
        """conversations.list: public channels unless other types are named."""
        asked = str(params.get("types") or "public_channel").split(",")
        if not set(asked) <= TYPES.keys():
            raise ApiError("invalid_types")
        kinds = {TYPES[one] for one in asked}
        hidden = flag(params.get("exclude_archived"))
        seen = [
            self._told(chat)
            for chat in self._world.chats.values()
            if chat.kind in kinds and (chat.joined or chat.kind == "group") and not (hidden and chat.archived)
        ]
        channels, more = page(params, seen)
        return {"channels": channels, **more}

    async def info(self, params: Json) -> Json:
        """conversations.info."""
        chat = self._found(params)
        counted = {"num_members": len(chat.members)} if flag(params.get("include_num_members")) else {}
        return {"channel": {**self._told(chat), **counted}}

    async def members(self, params: Json) -> Json:
        """conversations.members."""
        members, more = page(params, self._found(params).members)
        return {"members": members, **more}

    async def history(self, params: Json) -> Json:
        """conversations.history, newest first: what was said in a thread alone is not in it."""
        chat = self._member_of(params)
        seen = [
            message
            for message in reversed(chat.messages.values())
            if message.get("thread_ts", message["ts"]) == message["ts"] or message.get("subtype") == "thread_broadcast"
        ]
        return _between(params, seen)

    async def replies(self, params: Json) -> Json:
        """conversations.replies: a thread from its first message on."""
        chat = self._member_of(params)
        (ts,) = required(params, "ts")
        if ts not in chat.messages:
            raise ApiError("thread_not_found")
        root = chat.messages[ts].get("thread_ts", ts)
        return _between(params, [m for m in chat.messages.values() if root in (m["ts"], m.get("thread_ts"))])

    async def open(self, params: Json) -> Json:
        """conversations.open, for one user or several, or a conversation there is."""
        if params.get("channel"):
            chat = self._found(params)
        else:
            users = [one for one in str(params.get("users") or "").split(",") if one]
            if not users:
                raise ApiError("users_list_not_supplied")
            if not set(users) <= self._world.users.keys():
                raise ApiError("user_not_found")
            if len(users) == 1:
                chat = self._world.direct(users[0])
            else:
                chat = self._world.shared(f"mpdm-{'--'.join(sorted(users))}-1", "mpim")
                chat.members = sorted({*users, self._world.bot})
        told = self._told(chat) if flag(params.get("return_im")) else {"id": chat.id}
        return {"channel": told}

    async def user(self, params: Json) -> Json:
        """users.info."""
        (user_id,) = required(params, "user")
        if user_id not in self._world.users:
            raise ApiError("user_not_found")
        return {"user": self._world.users[user_id]}

    async def users(self, params: Json) -> Json:
        """users.list."""
        members, more = page(params, [*self._world.users.values()])
        return {"members": members, "cache_ts": 1700000000, **more}

    def _found(self, params: Json) -> Chat:
        (channel,) = required(params, "channel")
        if channel not in self._world.chats:
            raise ApiError("channel_not_found")
        return self._world.reached(channel)

    def _member_of(self, params: Json) -> Chat:
        chat = self._found(params)
        if not chat.joined:
            raise ApiError("not_in_channel")
        return chat

    def _told(self, chat: Chat) -> Json:
        shared = {"id": chat.id, "created": chat.created, "is_archived": chat.archived, "is_org_shared": False}
        if chat.kind == "dm":
            return {**shared, "is_im": True, "user": chat.members[0], "is_user_deleted": False, "priority": 0}
        called = CHANNEL_TYPES[chat.kind]
        return {
            **shared,
            "name": chat.name,
            "name_normalized": chat.name,
            "is_channel": called == "channel",
            "is_group": called == "group",
            "is_im": False,
            "is_mpim": called == "mpim",
            "is_private": called != "channel",
            "is_member": chat.joined,
            "is_general": False,
            "is_shared": chat.ext_shared,
            "is_ext_shared": chat.ext_shared,
            "creator": chat.members[-1],
            "context_team_id": self._world.team_id,
            "topic": {"value": "", "creator": "", "last_set": 0},
            "purpose": {"value": "", "creator": "", "last_set": 0},
        }


def _between(params: Json, messages: list[Json]) -> Json:
    """The messages between `oldest` and `latest`, without those at the ends unless `inclusive`; a page of them."""
    oldest, latest = str(params.get("oldest") or "0"), str(params.get("latest") or "9")
    ends = {oldest, latest} if flag(params.get("inclusive")) else set[str]()
    found, more = page(params, [m for m in messages if oldest < m["ts"] < latest or m["ts"] in ends])
    return {"messages": found, "has_more": bool(more["response_metadata"]["next_cursor"]), "pin_count": 0, **more}
