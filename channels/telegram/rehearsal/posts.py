"""Messages as Telegram makes them of what a user writes."""

from __future__ import annotations

import base64
import binascii
import time
from typing import Any

from channels.rehearsal.server import Unsayable
from channels.telegram.rehearsal.acts import Act, File, number_of
from channels.telegram.rehearsal.entities.settle import Formatted, settle
from channels.telegram.rehearsal.wording import TEXT_MAX
from channels.telegram.rehearsal.world import Chat, World, bare, measured

Json = dict[str, Any]

OTHER_KINDS = ("location", "contact", "venue", "poll", "dice")
ALBUM_MAX = 10
ANONYMOUS: Json = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}


def posts(world: World, act: Act, user: Json, chat: Chat) -> list[Json]:
    """What is posted: one message, the items of an album, or the pieces that an app makes of a long text."""
    where = frame(act, user, chat)
    if len(act.files) > ALBUM_MAX:
        raise Unsayable(f"an album has at most {ALBUM_MAX} items")
    shared: Json = {"media_group_id": str(world.serial())} if len(act.files) > 1 else {}
    bodies = [_file(world, file, act if n == 0 else Act()) for n, file in enumerate(act.files)]
    return [{**where, **shared, **body} for body in bodies or _bodies(act)]


def frame(act: Act, user: Json, chat: Chat) -> Json:
    """Who writes, in which topic, and in answer to what. Raises Unsayable."""
    frame: Json = {"from": user}
    if chat.kind == "channel":
        frame = {"sender_chat": chat.info}
    elif act.anonymous:
        frame = {"from": ANONYMOUS, "sender_chat": chat.info}
    elif act.as_bot:
        frame = {"from": {**user, "is_bot": True}}
    if act.thread is not None:
        if not chat.info.get("is_forum"):
            raise Unsayable("only a forum has topics")
        frame |= {"message_thread_id": act.thread, "is_topic_message": True}
        frame["reply_to_message"] = _opening(chat, act.thread)
    if act.reply_to is not None:
        target = chat.messages.get(number_of(act.reply_to))
        if target is None:
            raise Unsayable("there is no such message to reply to")
        frame["reply_to_message"] = bare(target)
    return frame


def reworded(message: Json, act: Act) -> Json:
    """The message edited, or itself when the text stays the same. Raises Unsayable."""
    field = "text" if "text" in message else "caption"
    kept = _settled(act.text, act)
    if field == "text" and not kept.text:
        raise Unsayable("a message needs text")
    names = (field, "entities" if field == "text" else "caption_entities")
    fields = kept.as_fields(field)
    if fields == {name: message[name] for name in names if name in message}:
        return message
    rest = {name: value for name, value in message.items() if name not in names}
    return {**rest, **fields, "edit_date": int(time.time())}


def _bodies(act: Act) -> list[Json]:
    for name in OTHER_KINDS:
        value = getattr(act, name)
        if value is not None:
            return [{name: value}]
    if not act.text.strip():
        raise Unsayable("a message needs text")
    pieces = [act.text[n : n + TEXT_MAX] for n in range(0, len(act.text), TEXT_MAX)]
    if len(pieces) > 1 and act.entities:
        raise Unsayable(f"a text with entities has at most {TEXT_MAX} characters")
    return [body for piece in pieces if (body := _settled(piece, act).as_fields("text"))]


def _file(world: World, file: File, act: Act) -> Json:
    try:
        content = base64.b64decode(file.base64, validate=True)
    except binascii.Error:
        raise Unsayable("the bytes of a file come in base64") from None
    name = file.name or file.kind
    file_id = world.keep_file(name, content)
    media_type = {"mime_type": file.media_type} if file.media_type else {}
    body: Json = {file.kind: measured(file.kind, {**world.file(file_id), **media_type, "file_name": name})}
    return body | _settled(act.text, act).as_fields("caption")


def _settled(text: str, act: Act) -> Formatted:
    return settle(text, act.entities)


def _opening(chat: Chat, thread: int) -> Json:
    """The first message of a topic, which every message in it seems to answer."""
    chat.topics.add(thread)
    return {
        "message_id": thread,
        "date": int(time.time()),
        "chat": chat.info,
        "from": ANONYMOUS,
        "message_thread_id": thread,
        "forum_topic_created": {"name": "Topic", "icon_color": 7322096},
        "is_topic_message": True,
    }
