"""Ids in several workspaces. Slack promises that they differ only together with the workspace they are from.

Those of the home workspace stay as Slack gives them; anywhere else the workspace's id goes before them: `T024BE7LD:C1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from channels.message import InboundMessage, message_id

CHATS = ("channel", "channel_id")
"""Parameters of a call that hold a chat's id."""

URL = ("http://", "https://")


def abroad(message: InboundMessage, team_id: str) -> InboundMessage:
    """The message with every id in it told apart from the same one at home. Pure."""

    def marked(value: str) -> str:
        return value if not value or value.startswith(URL) else f"{team_id}:{value}"

    keys = tuple(marked(key) for key in message.dedupe_keys)
    action = message.action
    return replace(
        message,
        id=message_id(message.connection_id, keys[0], message.received_at),
        dedupe_keys=keys,
        conversation=replace(message.conversation, chat_id=marked(message.conversation.chat_id)),
        sender=replace(message.sender, id=marked(message.sender.id)),
        reply_to=message.reply_to and marked(message.reply_to),
        message_ref=marked(message.message_ref),
        attachments=tuple(replace(a, provider_ref=marked(a.provider_ref)) for a in message.attachments),
        action=action and replace(action, message_ref=marked(action.message_ref)),
    )


def split(value: str) -> tuple[str, str]:
    """The workspace of a chat's or a file's id, empty for home, and the id as Slack knows it."""
    team_id, _, bare = value.rpartition(":")
    return team_id, bare


def localised(params: Mapping[str, JsonValue]) -> tuple[str, dict[str, JsonValue]]:
    """The workspace that a call goes to, empty for home, and its parameters as Slack takes them."""
    team_id, local = "", dict(params)
    for name in CHATS:
        if name in local:
            team_id, local[name] = split(str(local[name]))
    return team_id, local
