"""Slash commands and pressed buttons as messages."""

from __future__ import annotations

import json
from typing import Any

from channels.message import Action, Command, InboundMessage, Sender
from channels.slack.account import Json
from channels.slack.calls import BUTTON_ID, LINK_ID
from channels.slack.reading import Context, Ignored, Reading, identifier, inbound, moment, scope_of, thread_of
from channels.slack.text import plain

UNNAMED = {"directmessage", "privategroup", "fail"}
"""What Slack says for a channel's name where it has none to tell."""


def read_command(payload: Json, context: Context) -> Reading:
    """A slash command. Its `message_ref` is the address where it can be answered although the bot isn't there."""
    channel = identifier(payload["channel_id"])
    name, args = identifier(payload["command"]).removeprefix("/").lower(), plain(str(payload.get("text") or ""))
    return [
        inbound(
            context,
            kind="command",
            dedupe_keys=(f"command:{identifier(payload['trigger_id'])}",),
            channel=channel,
            title=_title(payload.get("channel_name")),
            scope=scope_of(channel),
            sender=Sender(identifier(payload["user_id"]), handle=str(payload.get("user_name") or "")),
            text=f"/{name} {args}".rstrip(),
            command=Command(name, args),
            mentions_bot=True,
            message_ref=str(payload.get("response_url") or ""),
        )
    ]


def read_actions(payload: Json, context: Context) -> Reading:
    """The buttons pressed under a message of the bot. One that opens an address says nothing."""
    if not isinstance(payload.get("channel"), dict):
        return Ignored("interaction_not_used")  # in a modal or on the app's home tab
    pressed = [a for a in payload["actions"] if not (a.get("url") or str(a["action_id"]).startswith(LINK_ID))]
    return [_action(action, payload, context) for action in pressed] or Ignored("link_button")


def _action(action: Json, payload: Json, context: Context) -> InboundMessage:
    channel, user = identifier(payload["channel"]["id"]), payload["user"]
    container, message = payload.get("container") or {}, payload.get("message") or {}
    ts = str(container.get("message_ts") or message.get("ts") or "")
    scope = scope_of(channel)
    thread_ts = container.get("thread_ts") or message.get("thread_ts")
    made_with = BUTTON_ID.sub("", identifier(action["action_id"]))
    value = str(action.get("value") or (action.get("selected_option") or {}).get("value") or made_with)
    ref = f"{channel}:{ts}" if ts else ""
    return inbound(
        context,
        kind="action",
        dedupe_keys=(f"action:{channel}:{ts}:{user['id']}:{action['action_id']}:{action.get('action_ts')}",),
        channel=channel,
        thread=thread_of(scope, ts, thread_ts) or None,
        title=_title(payload["channel"].get("name")),
        scope=scope,
        sender=Sender(identifier(user["id"]), handle=str(user.get("username") or user.get("name") or "")),
        text=value,
        mentions_bot=True,
        message_ref=ref,
        action=Action(made_with, value, ack_ref=_without_buttons(message, container, context), message_ref=ref),
        sent_at=moment(action.get("action_ts")),
    )


def _without_buttons(message: Json, container: Json, context: Context) -> str:
    """What is left of the bot's own message without its buttons, as JSON; empty where that can't be posted."""
    kept = [block for block in message.get("blocks") or () if block.get("type") != "actions"]
    account = context.account
    own = message.get("user") == account.user_id or (account.bot_id and message.get("bot_id") == account.bot_id)
    if not kept or not own or container.get("is_ephemeral"):
        return ""
    return json.dumps({"text": str(message.get("text") or ""), "blocks": kept}, ensure_ascii=False)


def _title(name: Any) -> str:
    return "" if name in UNNAMED else str(name or "")
