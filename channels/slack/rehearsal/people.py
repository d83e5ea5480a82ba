"""What people in the workspace do, as the events Slack makes of it."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from channels.rehearsal.server import Unsayable
from channels.slack.rehearsal.events import Events, rich_text
from channels.slack.rehearsal.interactions import Interactions
from channels.slack.rehearsal.reading import escaped
from channels.slack.rehearsal.world import CHANNEL_TYPES, Chat, World, identifier

Json = dict[str, Any]

SUBTYPES = {"me_message", "thread_broadcast", "file_share"}

_URL = re.compile(r"https?://[^\s<>|]+")


class People:
    """Turns control requests into messages and events. `revoke` makes the bot token answer an error from then on."""

    def __init__(
        self,
        world: World,
        events: Events,
        interactions: Interactions,
        *,
        url: Callable[[], str],
        revoke: Callable[[str], None],
        disconnect: Callable[[str], Awaitable[None]],
    ) -> None:
        self._world = world
        self._events = events
        self._interactions = interactions
        self._url = url
        self._revoke = revoke
        self._disconnect = disconnect

    async def act(self, request: Json, *, twice: bool) -> Json:
        """Do what the request says. Raises Unsayable."""
        if "disconnect" in request:
            await self._disconnect(str(request["disconnect"]))
            return {"chat": "", "ref": ""}
        if request.get("uninstall") or request.get("tokens_revoked"):
            return self._leave(uninstalled=bool(request.get("uninstall")))
        team_id = identifier("T", str(request["team"])) if request.get("team") else self._world.team_id
        user = self._world.person(str(request.get("user", "you")), team_id=team_id)
        chat = self._chat(request, user)
        chat.ext_shared |= team_id != self._world.team_id
        if user["id"] not in chat.members:
            chat.members.insert(0, user["id"])
        if "member" in request or "archive" in request:
            return self._stand(request, user, chat)
        if "press" in request:
            return _done(chat, self._interactions.press(chat, user, str(request["press"])))
        if "slash" in request:
            self._interactions.command(chat, user, **request["slash"])
            return {"chat": chat.id, "ref": ""}
        if "react" in request:
            return self._react(request, user, chat, twice)
        if "edit" in request:
            return self._edit(request, user, chat, twice)
        if "delete" in request:
            return self._delete(request, chat, twice)
        return self._write(request, user, chat, team_id, twice)

    def _chat(self, request: Json, user: Json) -> Chat:
        given = request.get("chat")
        known = self._world.chats.get(str(given)) or self._world.chats.get(identifier("C", str(given)))
        if given is not None and known is not None:
            return known
        kind = str(request.get("kind") or ("dm" if given is None or str(given).startswith("D0") else "group"))
        if kind not in CHANNEL_TYPES:
            raise Unsayable(f"kind is one of {', '.join(CHANNEL_TYPES)}")
        if kind == "dm":
            return self._world.direct(user["id"])
        name = str(given) if given is not None else f"{kind}-room"
        return self._world.shared(name, kind)

    def _write(self, request: Json, user: Json, chat: Chat, team_id: str, twice: bool) -> Json:
        text = self._text(request)
        files = request.get("files") or []
        if not text.strip() and not files:
            raise Unsayable("a message needs text or files")
        if chat.archived:
            raise Unsayable("the channel is archived")
        content = {
            **self._author(request, user, team_id),
            "text": text,
            **self._threaded(request, chat),
            **self._kind(request, files, user),
        }
        if text and not files and content.get("subtype") != "me_message":
            content["blocks"] = rich_text(text, f"b{self._world.serial()}")
        message = self._world.post(chat, content)
        told = [self._events.message(chat, message)]
        if f"<@{self._world.bot}>" in text and chat.kind != "dm" and content.get("subtype") != "me_message":
            told.append(self._events.mention(chat, message))
        if request.get("mention_first"):
            told.reverse()
        self._events.emit(*told, chat=chat, team_id=team_id, twice=twice)
        return _done(chat, message)

    def _text(self, request: Json) -> str:
        """In Slack's markup: escaped, with addresses in angle brackets, unless it is given so (`raw`)."""
        text = str(request.get("text", ""))
        if not request.get("raw"):
            text = _URL.sub(lambda url: f"<{url[0]}>", escaped(text))
        return f"<@{self._world.bot}> {text}".rstrip() if request.get("mention") else text

    def _author(self, request: Json, user: Json, team_id: str) -> Json:
        """Who it is from: a person; another app's bot; with `as_bot` "classic", one that has no user."""
        match request.get("as_bot"):
            case None | False:
                return {
                    "user": user["id"],
                    "client_msg_id": str(uuid.uuid4()),
                    "team": team_id,
                    **({"user_team": team_id, "source_team": team_id} if team_id != self._world.team_id else {}),
                }
            case "classic":
                bot = {"bot_id": identifier("B", user["name"]), "username": user["real_name"]}
                return {"subtype": "bot_message", **bot}
            case _:
                profile = {"id": identifier("B", user["name"]), "name": user["real_name"], "team_id": team_id}
                bot = {"bot_id": profile["id"], "app_id": identifier("A", user["name"]), "bot_profile": profile}
                return {"user": user["id"], "team": team_id, **bot}

    def _threaded(self, request: Json, chat: Chat) -> Json:
        if request.get("thread") is None:
            return {}
        parent = _number(request["thread"])
        root = chat.messages.get(parent)
        return {"thread_ts": parent, **({"parent_user_id": root["user"]} if root and "user" in root else {})}

    def _kind(self, request: Json, files: list[Json], user: Json) -> Json:
        subtype = request.get("subtype") or ("file_share" if files else None)
        if subtype is None:
            return {}
        if subtype not in SUBTYPES:
            raise Unsayable(f"subtype is one of {', '.join(sorted(SUBTYPES))}")
        if subtype == "thread_broadcast" and request.get("thread") is None:
            raise Unsayable("a thread_broadcast needs a thread")
        if subtype != "file_share":
            return {"subtype": subtype}
        kept = [
            self._world.keep_file(
                self._url(),
                str(file.get("name", "file")),
                user=user["id"],
                media_type=str(file.get("media_type", "")),
                content=base64.b64decode(file.get("base64", "")),
            ).info
            for file in files
        ]
        return {"subtype": subtype, "files": kept, "upload": False, "display_as_bot": False}

    def _edit(self, request: Json, user: Json, chat: Chat, twice: bool) -> Json:
        """New words; with `unfurl` the same words and a preview of a link, of which Slack tells in the same way."""
        message = _message(chat, request["edit"])
        before = dict(message)
        if request.get("unfurl"):
            message["attachments"] = [{"id": 1, "from_url": str(request["unfurl"]), "fallback": "A preview"}]
        else:
            message["text"] = self._text(request)
            message["blocks"] = rich_text(message["text"], f"b{self._world.serial()}")
            message["edited"] = {"user": user["id"], "ts": self._world.ts()}
        self._events.emit(self._events.changed(chat, dict(message), before), chat=chat, twice=twice)
        return _done(chat, message)

    def _delete(self, request: Json, chat: Chat, twice: bool) -> Json:
        message = _message(chat, request["delete"])
        del chat.messages[message["ts"]]
        self._events.emit(self._events.deleted(chat, message), chat=chat, twice=twice)
        return _done(chat, message)

    def _react(self, request: Json, user: Json, chat: Chat, twice: bool) -> Json:
        message = _message(chat, request["to"])
        item = {"type": "message", "channel": chat.id, "ts": message["ts"]}
        event = {"type": "reaction_added", "user": user["id"], "reaction": str(request["react"]), "item": item}
        author = {"item_user": message["user"]} if "user" in message else {}
        self._events.emit({**event, **author, "event_ts": self._world.ts()}, chat=chat, twice=twice)
        return _done(chat, message)

    def _stand(self, request: Json, user: Json, chat: Chat) -> Json:
        """The bot is taken in or out (`member`: true or false), or the channel is archived or brought back."""
        event: Json
        if "archive" in request:
            chat.archived = bool(request["archive"])
            kind = "channel_archive" if chat.archived else "channel_unarchive"
            event = {"type": kind, "channel": chat.id, "user": user["id"]}
        else:
            # Who leaves is told of it in one last event.
            chat.joined = True
            kind = "member_joined_channel" if request["member"] else "member_left_channel"
            letter = "C" if chat.kind == "group" else "G"
            event = {"type": kind, "user": self._world.bot, "channel": chat.id, "channel_type": letter}
            event |= {"team": self._world.team_id, "inviter": user["id"]} if request["member"] else {}
        self._events.emit({**event, "event_ts": self._world.ts()}, chat=chat)
        chat.joined = chat.joined if "archive" in request else bool(request["member"])
        return {"chat": chat.id, "ref": ""}

    def _leave(self, *, uninstalled: bool) -> Json:
        """The app is uninstalled, or its tokens are revoked; Slack tells of both in no certain order."""
        revoked: Json = {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [self._world.bot]}}
        gone = [{"type": "app_uninstalled"}] if uninstalled else []
        self._revoke("account_inactive" if uninstalled else "token_revoked")
        self._events.emit(*({**event, "event_ts": self._world.ts()} for event in [revoked, *gone]))
        return {"chat": "", "ref": ""}


def _number(given: Any) -> str:
    """A timestamp, from itself or from a reference to a message."""
    return str(given).rpartition(":")[2]


def _message(chat: Chat, given: Any) -> Json:
    message = chat.messages.get(_number(given))
    if message is None:
        raise Unsayable("there is no such message")
    return message


def _done(chat: Chat, message: Json) -> Json:
    return {"chat": chat.id, "ref": f"{chat.id}:{message['ts']}"}
