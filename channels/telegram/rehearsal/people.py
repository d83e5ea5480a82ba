"""What a user does on a rehearsed phone, as the updates Telegram makes of it."""

from __future__ import annotations

import time
from typing import Any

from channels.rehearsal.server import Unsayable
from channels.telegram.rehearsal.acts import Act, number_of, read
from channels.telegram.rehearsal.posts import frame, posts, reworded
from channels.telegram.rehearsal.updates import Updates
from channels.telegram.rehearsal.world import BLOCKED, SUPERGROUP, Chat, World

Json = dict[str, Any]

RIGHTS = (
    "can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages", "can_manage_video_chats",
    "can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users", "can_post_stories",
    "can_edit_stories", "can_delete_stories",
)  # fmt: skip
STANDING: dict[str, Json] = {
    "left": {},
    "member": {},
    "administrator": dict.fromkeys(RIGHTS, False),
    "kicked": {"until_date": 0},
}
"""What one can be in a chat, with the fields that always come with it."""


class People:
    """Turns control requests into messages and updates."""

    def __init__(self, world: World, updates: Updates) -> None:
        self._world = world
        self._updates = updates

    def act(self, request: Json) -> Json:
        """Do what the request says; the chat, and a reference to the message concerned. Raises Unsayable."""
        act = read(request)
        user = self._world.person(act.user)
        chat = self._chat(act, user)
        if chat.kind == "private":
            user = self._world.people.setdefault(chat.id, {**user, "id": chat.id})
        if act.press is not None:
            return self._press(act, act.press, user, chat)
        if act.react is not None:
            return self._react(act, act.react, user, chat)
        if act.edit is not None:
            return self._edit(act, chat)
        if act.migrate:
            return self._migrate(chat)
        if act.bar is not None:
            chat.barred = act.bar
            return _done(chat)
        if act.member is not None:
            return self._stand(act.member, user, chat)
        if act.joins or act.leaves:
            return self._come(user, chat, joins=act.joins)
        return self._write(act, user, chat)

    def _chat(self, act: Act, user: Json) -> Chat:
        """The chat of that name or id. One that is new is what `kind` says, else what its id says."""
        if act.chat is None:
            if act.kind not in (None, "dm"):
                raise Unsayable("a chat of this kind needs a name")
            return self._world.private(user)
        given = str(act.chat)
        number = int(given) if given.lstrip("-").isdigit() else None
        if number is not None and number in self._world.chats:
            return self._world.chats[number]
        kind = act.kind or ("supergroup" if number is None else _kind(number))
        if kind == "dm":
            return self._world.private(self._world.person(given) if number is None else {**user, "id": number})
        return self._world.shared(given, kind)

    def _write(self, act: Act, user: Json, chat: Chat) -> Json:
        if chat.barred == BLOCKED:
            self._stand("member", user, chat)
        written = [self._world.post(chat, post) for post in posts(self._world, act, user, chat)]
        kind = "channel_post" if chat.kind == "channel" else "message"
        for message in written:
            if self._sees(chat, message):
                self._updates.add(kind, message, chat.id)
        return _done(chat, written[0])

    def _sees(self, chat: Chat, message: Json) -> bool:
        """In privacy mode a group's messages reach the bot only as commands and as replies to what it said."""
        if self._world.sees_all or chat.kind in ("private", "channel") or chat.standing == "administrator":
            return True
        if message.get("reply_to_message", {}).get("message_id") in chat.own:
            return True
        words = message.get("text", "") or message.get("caption", "")
        command, _, bot = words.split(maxsplit=1)[0].partition("@") if words.strip() else ("", "", "")
        return command.startswith("/") and bot.lower() in ("", self._world.bot["username"].lower())

    def _press(self, act: Act, wanted: str, user: Json, chat: Chat) -> Json:
        for message in reversed(chat.messages.values()):
            if act.message is not None and message["message_id"] != number_of(act.message):
                continue
            for row in message.get("reply_markup", {}).get("inline_keyboard", []):
                for button in row:
                    if "callback_data" in button and wanted in (button["text"], button["callback_data"]):
                        self._query(user, chat, message, button["callback_data"])
                        return _done(chat, message)
        raise Unsayable(f"there is no button '{wanted}'")

    def _query(self, user: Json, chat: Chat, message: Json, data: str) -> None:
        query = str(user["id"] * 1_000_000 + self._world.serial())
        self._world.queries.add(query)
        content = {"id": query, "from": user, "message": message, "chat_instance": str(chat.id), "data": data}
        self._updates.add("callback_query", content, user["id"])

    def _react(self, act: Act, emoji: str, user: Json, chat: Chat) -> Json:
        message = _message(chat, act.to)
        place = (message["message_id"], chat.id if act.anonymous else user["id"])
        new = [{"type": "emoji", "emoji": emoji}] if emoji else []
        content: Json = {
            "chat": chat.info,
            "message_id": message["message_id"],
            "date": int(time.time()),
            "old_reaction": chat.reactions.get(place, []),
            "new_reaction": new,
        }
        content |= {"actor_chat": chat.info} if act.anonymous else {"user": user}
        chat.reactions[place] = new
        self._updates.add("message_reaction", content, chat.id)
        return _done(chat, message)

    def _edit(self, act: Act, chat: Chat) -> Json:
        """An edit that changes nothing is told to nobody."""
        before = _message(chat, act.edit)
        if before["message_id"] in chat.own:
            raise Unsayable("only the bot can edit what it said")
        after = reworded(before, act)
        if after is not before:
            chat.messages[before["message_id"]] = after
            kind = "edited_channel_post" if chat.kind == "channel" else "edited_message"
            if self._sees(chat, after):
                self._updates.add(kind, after, chat.id)
        return _done(chat, after)

    def _migrate(self, chat: Chat) -> Json:
        """The group becomes a supergroup: its old id is dead, and a service message in each says so."""
        if chat.kind != "group" or chat.moved_to is not None:
            raise Unsayable("only a group becomes a supergroup, and once")
        new = self._world.shared(str(SUPERGROUP + chat.id), "supergroup")
        new.info["title"], new.standing = chat.info["title"], chat.standing
        sender = {"from": self._world.bot}
        there = self._world.post(new, {**sender, "migrate_from_chat_id": chat.id})
        here = self._world.post(chat, {**sender, "migrate_to_chat_id": new.id})
        chat.moved_to = new.id
        self._updates.add("message", here, chat.id)
        self._updates.add("message", there, new.id)
        return _done(new, there)

    def _stand(self, now: str, user: Json, chat: Chat) -> Json:
        """The bot is added, promoted, removed; in a private chat, blocked or started again."""
        was = "kicked" if chat.barred == BLOCKED else chat.standing
        if was == now:
            was = "left" if now in ("member", "administrator") else "member"
        change = self._change(user, self._world.bot, chat, was, now)
        where = "the user" if chat.kind == "private" else f"the {chat.kind} chat"
        gone = {
            "kicked": BLOCKED if chat.kind == "private" else f"bot was kicked from {where}",
            "left": f"bot is not a member of {where}",
        }
        chat.standing, chat.barred = now, gone.get(now, "")
        self._updates.add("my_chat_member", change, chat.id)
        if now == "member" and chat.kind in ("group", "supergroup"):
            self._service(user, chat, "new_chat_members", [self._world.bot])
        return _done(chat)

    def _come(self, user: Json, chat: Chat, *, joins: bool) -> Json:
        if chat.kind == "private":
            raise Unsayable("nobody joins or leaves a private chat")
        was, now = ("left", "member") if joins else ("member", "left")
        if chat.standing == "administrator":
            self._updates.add("chat_member", self._change(user, user, chat, was, now), user["id"])
        if chat.kind == "channel":
            return _done(chat)
        name, value = ("new_chat_members", [user]) if joins else ("left_chat_member", user)
        return _done(chat, self._service(user, chat, name, value))

    def _change(self, by: Json, member: Json, chat: Chat, was: str, now: str) -> Json:
        return {
            "chat": chat.info,
            "from": by,
            "date": int(time.time()),
            "old_chat_member": {"user": member, "status": was, **STANDING[was]},
            "new_chat_member": {"user": member, "status": now, **STANDING[now]},
        }

    def _service(self, user: Json, chat: Chat, name: str, value: Any) -> Json:
        message = self._world.post(chat, {**frame(Act(), user, chat), name: value})
        self._updates.add("message", message, chat.id)
        return message


def _kind(number: int) -> str:
    if number > 0:
        return "dm"
    return "group" if number > SUPERGROUP else "supergroup"


def _message(chat: Chat, ref: str | int | None) -> Json:
    message = chat.messages.get(number_of(ref))
    if message is None:
        raise Unsayable("there is no such message in this chat")
    return message


def _done(chat: Chat, message: Json | None = None) -> Json:
    return {"chat": str(chat.id), "ref": f"{chat.id}:{message['message_id']}" if message else ""}
