"""Events as Slack tells them: the wrapper, and what is in it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from channels.slack.rehearsal.delivery import Delivery
from channels.slack.rehearsal.reading import unescaped
from channels.slack.rehearsal.world import CHANNEL_TYPES, Chat, World, identifier

Json = dict[str, Any]

Reordered = Callable[[Json], list[Json]]
"""The events to deliver now that one happened: `Faults.reordered`."""

_TOKEN = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")


class Events:
    """Wraps events and hands them over to be delivered, if the bot is where they happen."""

    def __init__(self, world: World, delivery: Delivery, reordered: Reordered, verification_token: str) -> None:
        self._world = world
        self._delivery = delivery
        self._reordered = reordered
        self._token = verification_token

    def emit(self, *events: Json, chat: Chat | None = None, team_id: str = "", twice: bool = False) -> None:
        """Tell the app, one after the other. `team_id` is the workspace of who caused it, if it is another one."""
        if chat is None or chat.joined:
            wrapped = [self._wrap(event, team_id or self._world.team_id, chat) for event in events]
            due = [one for event in wrapped for one in self._reordered(event)]
            self._delivery.events([one for one in due for _ in range(2 if twice else 1)])

    def message(self, chat: Chat, message: Json, **more: Any) -> Json:
        """A `message` event for a message that is kept."""
        return {
            **{name: value for name, value in message.items() if name != "reactions"},
            "channel": chat.id,
            "event_ts": message["ts"],
            "channel_type": CHANNEL_TYPES[chat.kind],
            **more,
        }

    def mention(self, chat: Chat, message: Json) -> Json:
        """An `app_mention`: the same message, without `channel_type`."""
        event = {**self.message(chat, message), "type": "app_mention"}
        return {name: value for name, value in event.items() if name not in ("channel_type", "subtype")}

    def changed(self, chat: Chat, message: Json, before: Json) -> Json:
        """A `message_changed`, with the message before and after."""
        return self._about(chat, "message_changed", message=message, previous_message=before)

    def deleted(self, chat: Chat, before: Json) -> Json:
        """A `message_deleted`."""
        return self._about(chat, "message_deleted", previous_message=before, deleted_ts=before["ts"])

    def _about(self, chat: Chat, subtype: str, **what: Any) -> Json:
        ts = self._world.ts()
        frame = {"type": "message", "subtype": subtype, "channel": chat.id, "channel_type": CHANNEL_TYPES[chat.kind]}
        return {**frame, **what, "hidden": True, "ts": ts, "event_ts": ts}

    def _wrap(self, event: Json, team_id: str, chat: Chat | None) -> Json:
        serial = self._world.serial()
        return {
            "token": self._token,
            "team_id": team_id,
            "context_team_id": self._world.team_id,
            "context_enterprise_id": None,
            "api_app_id": self._world.app_id,
            "event": event,
            "type": "event_callback",
            "event_id": identifier("Ev", f"event {serial} of {self._world.team_id}"),
            "event_time": int(time.time()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": self._world.team_id,
                    "user_id": self._world.bot,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": chat is not None and chat.ext_shared,
            "event_context": f"4-{serial}",
        }


def rich_text(text: str, block_id: str) -> list[Json]:
    """The blocks that Slack makes of what a user wrote; `text` is in Slack's own markup."""
    elements: list[Json] = []
    at = 0
    for token in _TOKEN.finditer(text):
        elements += _plain(text[at : token.start()])
        elements.append(_element(token[1], token[2]))
        at = token.end()
    elements += _plain(text[at:])
    section = {"type": "rich_text_section", "elements": elements}
    return [{"type": "rich_text", "block_id": block_id, "elements": [section]}]


def _plain(text: str) -> list[Json]:
    return [{"type": "text", "text": unescaped(text)}] if text else []


def _element(target: str, label: str | None) -> Json:
    if target.startswith("@"):
        return {"type": "user", "user_id": target[1:]}
    if target.startswith("#"):
        return {"type": "channel", "channel_id": target[1:]}
    if target.startswith("!"):
        return {"type": "broadcast", "range": target[1:]}
    return {"type": "link", "url": unescaped(target), **({"text": unescaped(label)} if label else {})}
