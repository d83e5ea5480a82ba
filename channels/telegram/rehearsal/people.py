"""What a user does on a rehearsed phone, as the updates Telegram makes of it."""

from __future__ import annotations

import base64
import time
from typing import Any

from channels.rehearsal.server import Unsayable
from channels.telegram.rehearsal.entities.detect import detect
from channels.telegram.rehearsal.updates import Updates
from channels.telegram.rehearsal.world import Chat, World, measured

Json = dict[str, Any]

KINDS = {"dm", "group", "supergroup", "forum", "channel"}
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
"""What the bot can be in a chat, with the fields that always come with it."""

MEDIA = {"photo", "document", "voice", "audio", "video", "sticker", "animation"}


class People:
    """Turns control requests into messages and updates."""

    def __init__(self, world: World, updates: Updates) -> None:
        self._world = world
        self._updates = updates

    def act(self, request: Json, *, twice: bool) -> Json:
        """Do what the request says. Raises Unsayable."""
        user = self._world.person(str(request.get("user", "you")))
        chat = self._chat(request, user)
        if "press" in request:
            return self._press(request, user, chat, twice)
        if "react" in request:
            return self._react(request, user, chat)
        if "edit" in request:
            return self._edit(request, chat)
        if "migrate" in request:
            return self._migrate(chat)
        if "bar" in request:
            chat.barred = str(request["bar"])
            return {"chat": str(chat.info["id"]), "ref": ""}
        if "member" in request:
            return self._member(request, user, chat)
        return self._write(request, user, chat, twice)

    def _chat(self, request: Json, user: Json) -> Chat:
        kind = str(request.get("kind", "")) or ("dm" if request.get("chat") is None else "supergroup")
        if kind not in KINDS:
            raise Unsayable(f"kind is one of {', '.join(sorted(KINDS))}")
        given = request.get("chat")
        if given is not None and str(given).lstrip("-").isdigit() and int(given) in self._world.chats:
            return self._world.chats[int(given)]
        if kind == "dm":
            return self._world.private(user if given is None else {**user, "id": int(given)})
        return self._world.shared(str(given), kind)

    def _write(self, request: Json, user: Json, chat: Chat, twice: bool) -> Json:
        files = request.get("files") or []
        shared: Json = {"media_group_id": str(self._world.serial())} if len(files) > 1 else {}
        frame = self._frame(request, user, chat)
        bodies = [self._file(file, request, n) for n, file in enumerate(files)] or [self._body(request)]
        posted = [self._world.post(chat, {**frame, **shared, **body}) for body in bodies]
        kind = "channel_post" if chat.info["type"] == "channel" else "message"
        for message in posted:
            self._updates.add(kind, message, chat.info["id"], twice=twice)
        return self._done(chat, posted[0])

    def _frame(self, request: Json, user: Json, chat: Chat) -> Json:
        frame: Json = {"from": user}
        if chat.info["type"] == "channel":
            frame = {"sender_chat": chat.info}
        elif request.get("anonymous"):
            anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
            frame = {"from": anonymous, "sender_chat": chat.info}
        elif request.get("as_bot"):
            frame = {"from": {**user, "is_bot": True}}
        if request.get("thread") is not None:
            thread = int(request["thread"])
            chat.topics.add(thread)
            frame |= {"message_thread_id": thread, "is_topic_message": True}
            if "reply_to" not in request:
                frame["reply_to_message"] = {
                    "message_id": thread,
                    "date": int(time.time()),
                    "chat": chat.info,
                    "forum_topic_created": {"name": "Topic", "icon_color": 7322096},
                }
        if "reply_to" in request:
            number = int(str(request["reply_to"]).rpartition(":")[2])
            if number not in chat.messages:
                raise Unsayable("there is no such message to reply to")
            frame["reply_to_message"] = chat.messages[number]
        return frame

    def _body(self, request: Json) -> Json:
        for name in ("location", "contact", "venue", "poll", "dice"):
            if name in request:
                return {name: request[name]}
        text = str(request.get("text", ""))
        if not text.strip():
            raise Unsayable("a message needs text")
        return _worded(text, request, "text")

    def _file(self, file: Json, request: Json, number: int) -> Json:
        kind = str(file.get("kind", "document"))
        if kind not in MEDIA:
            raise Unsayable(f"a file's kind is one of {', '.join(sorted(MEDIA))}")
        name = str(file.get("name", kind))
        content = base64.b64decode(file.get("base64", ""))
        file_id = self._world.keep_file(name, content)
        size: Json = {"file_id": file_id, "file_unique_id": f"u{file_id}", "file_size": len(content)}
        media_type = {"mime_type": file["media_type"]} if "media_type" in file and kind != "photo" else {}
        body: Json = {kind: measured(kind, {**size, **media_type, "file_name": name})}
        caption = str(request.get("text", "")) if number == 0 else ""
        return body | _worded(caption, request, "caption") if caption else body

    def _press(self, request: Json, user: Json, chat: Chat, twice: bool) -> Json:
        for message in reversed(chat.messages.values()):
            for row in message.get("reply_markup", {}).get("inline_keyboard", []):
                for button in row:
                    if request["press"] in (button["text"], button.get("callback_data")):
                        query = str(self._world.serial())
                        self._world.queries.add(query)
                        content = {"id": query, "from": user, "message": message, "chat_instance": "1"}
                        content["data"] = button["callback_data"]
                        self._updates.add("callback_query", content, chat.info["id"], twice=twice)
                        return self._done(chat, message)
        raise Unsayable(f"there is no button '{request['press']}'")

    def _react(self, request: Json, user: Json, chat: Chat) -> Json:
        number = int(str(request["to"]).rpartition(":")[2])
        content = {"chat": chat.info, "message_id": number, "user": user, "date": int(time.time())}
        reaction = [{"type": "emoji", "emoji": str(request["react"])}]
        self._updates.add(
            "message_reaction", {**content, "old_reaction": [], "new_reaction": reaction}, chat.info["id"]
        )
        return self._done(chat, chat.messages[number])

    def _edit(self, request: Json, chat: Chat) -> Json:
        number = int(str(request["edit"]).rpartition(":")[2])
        if number not in chat.messages:
            raise Unsayable("there is no such message to edit")
        before = {name: value for name, value in chat.messages[number].items() if not name.endswith("entities")}
        field = "text" if "text" in before else "caption"
        message = {**before, **_worded(str(request.get("text", "")), request, field), "edit_date": int(time.time())}
        chat.messages[number] = message
        self._updates.add("edited_message", message, chat.info["id"])
        return self._done(chat, message)

    def _migrate(self, chat: Chat) -> Json:
        """The group becomes a supergroup: its old id is dead, and a service message says so."""
        new = self._world.shared(f"-100{abs(chat.info['id'])}", "supergroup")
        message = self._world.post(chat, {"from": self._world.bot, "migrate_to_chat_id": new.info["id"]})
        chat.moved_to = new.info["id"]
        self._updates.add("message", message, chat.info["id"])
        return {"chat": str(new.info["id"]), "ref": ""}

    def _member(self, request: Json, user: Json, chat: Chat) -> Json:
        now = str(request["member"])
        if now not in STANDING:
            raise Unsayable(f"member is one of {', '.join(STANDING)}")
        was = "member" if now in ("left", "kicked") else "left"
        content = {
            "chat": chat.info,
            "from": user,
            "date": int(time.time()),
            "old_chat_member": {"user": self._world.bot, "status": was, **STANDING[was]},
            "new_chat_member": {"user": self._world.bot, "status": now, **STANDING[now]},
        }
        self._updates.add("my_chat_member", content, chat.info["id"])
        return {"chat": str(chat.info["id"]), "ref": ""}

    def _done(self, chat: Chat, message: Json) -> Json:
        number = str(chat.info["id"])
        return {"chat": number, "ref": f"{number}:{message['message_id']}"}


def _worded(text: str, request: Json, field: str) -> Json:
    """A text or caption with its entities: those given, or those that Telegram finds."""
    entities = request.get("entities") or detect(text)
    name = "entities" if field == "text" else "caption_entities"
    return {field: text, **({name: entities} if entities else {})}
