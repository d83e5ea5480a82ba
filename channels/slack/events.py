"""Events as messages: what was said, changed or deleted, who reacted, who came, and the app being removed."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

from channels.message import InboundMessage, Sender, StatusUpdate
from channels.slack.account import Json
from channels.slack.content import attachments, text_of
from channels.slack.reading import (
    Context,
    Ignored,
    Reading,
    identifier,
    inbound,
    moment,
    scope_of,
    sender,
    thread_of,
    timestamp,
)
from channels.slack.text import mentions

SAID = {None, "", "bot_message", "file_share", "me_message", "thread_broadcast"}
"""Subtypes of messages that somebody wrote. Any other tells of something that happened in the channel."""

GONE_FOR_GOOD = {
    "app_uninstalled": "The app was uninstalled from workspace {}.",
    "tokens_revoked": "The app's bot token for workspace {} was revoked.",
}


def read_event(event: Json, context: Context) -> Reading:
    """The message in an event, or why there is none."""
    match event["type"]:
        case "app_mention":
            return [_message(event, context, mentioned=True)]
        case "message":
            return _message_event(event, context)
        case "reaction_added" | "reaction_removed":
            return _reaction(event, context)
        case "member_joined_channel" | "member_left_channel":
            return [_member(event, context)]
        case "app_uninstalled" | "tokens_revoked":
            return _gone(event, context)
        case _:
            return Ignored("event_not_used")


def _message_event(event: Json, context: Context) -> Reading:
    match event.get("subtype"):
        case "message_changed":
            return _changed(event, context)
        case "message_deleted":
            return [_deleted(event, event.get("previous_message") or {}, context)]
        case "message_replied":
            return Ignored("event_not_used")  # the reply itself comes as a message of its own
        case subtype if subtype in SAID:
            return [_message(event, context)]
        case subtype:
            return [_happening(event, str(subtype), context)]


def _message(event: Json, context: Context, *, mentioned: bool = False) -> InboundMessage:
    """What somebody said. A mention comes twice, as app_mention and as message: both have the second key."""
    channel, ts = identifier(event["channel"]), timestamp(event["ts"])
    scope = scope_of(channel, event.get("channel_type"))
    account, raw_text, thread_ts = context.account, str(event.get("text") or ""), event.get("thread_ts")
    in_thread = thread_ts and thread_ts != ts
    return inbound(
        context,
        kind="message",
        dedupe_keys=(*_event_keys(context), f"msg:{account.team_id}:{channel}:{ts}"),
        channel=channel,
        thread=thread_of(scope, ts, thread_ts),
        scope=scope,
        sender=sender(context, event),
        text=text_of(event, account.user_id),
        mentions_bot=mentioned or mentions(raw_text, account.user_id) or event.get("parent_user_id") == account.user_id,
        reply_to=f"{channel}:{thread_ts}" if in_thread else None,
        message_ref=f"{channel}:{ts}",
        attachments=attachments(event),
        sent_at=moment(ts),
    )


def _changed(event: Json, context: Context) -> Reading:
    """An edit. A link's preview, or a first reply, changes a message too, without a word of it being different."""
    message, before = event["message"], event.get("previous_message") or {}
    if message.get("subtype") == "tombstone":
        return [_deleted(event, before or message, context)]
    bot = context.account.user_id
    files = attachments(message)
    if before and (text_of(message, bot), files) == (text_of(before, bot), attachments(before)):
        return Ignored("nothing_edited")
    channel, ts = identifier(event["channel"]), timestamp(message.get("ts") or before.get("ts"))
    version = (message.get("edited") or {}).get("ts") or event.get("event_ts") or event.get("ts")
    return [
        _about_earlier(
            event,
            {**before, **message, "ts": ts},
            context,
            key=f"edit:{context.account.team_id}:{channel}:{ts}:{version}",
            text=text_of(message, bot),
            mentions_bot=mentions(str(message.get("text") or ""), bot),
            attachments=files,
        )
    ]


def _deleted(event: Json, before: Json, context: Context) -> InboundMessage:
    channel, ts = identifier(event["channel"]), timestamp(event.get("deleted_ts") or before.get("ts"))
    key = f"delete:{context.account.team_id}:{channel}:{ts}"
    return _about_earlier(event, {**before, "ts": ts}, context, key=key, data={"deleted": True})


def _about_earlier(event: Json, message: Json, context: Context, *, key: str, **fields: Any) -> InboundMessage:
    """An edit or a deletion, in the conversation that its message was in."""
    channel, ts = identifier(event["channel"]), timestamp(message["ts"])
    scope = scope_of(channel, event.get("channel_type"))
    return inbound(
        context,
        kind="edit",
        dedupe_keys=(*_event_keys(context), key),
        channel=channel,
        thread=thread_of(scope, ts, message.get("thread_ts")),
        scope=scope,
        sender=sender(context, message),
        message_ref=f"{channel}:{ts}",
        sent_at=moment(event.get("event_ts") or event.get("ts")),
        **fields,
    )


def _happening(event: Json, subtype: str, context: Context) -> InboundMessage:
    """A message that nobody wrote: someone joined, the topic changed."""
    channel, ts = identifier(event["channel"]), timestamp(event["ts"])
    return inbound(
        context,
        kind="membership",
        dedupe_keys=(*_event_keys(context), f"msg:{context.account.team_id}:{channel}:{ts}"),
        channel=channel,
        scope=scope_of(channel, event.get("channel_type")),
        sender=sender(context, event),
        text=text_of(event, context.account.user_id),
        message_ref=f"{channel}:{ts}",
        sent_at=moment(ts),
        data={"event": subtype},
    )


def _reaction(event: Json, context: Context) -> Reading:
    """A reaction to one of the bot's messages. In which thread that is, Slack doesn't say."""
    item, name = event["item"], identifier(event["reaction"])
    if event.get("item_user") != context.account.user_id or item.get("type") != "message":
        return Ignored("reaction_to_others")
    channel, ts = identifier(item["channel"]), timestamp(item["ts"])
    kind, at = identifier(event["type"]), str(event.get("event_ts") or "")
    key = f"{kind}:{context.account.team_id}:{channel}:{ts}:{name}:{event.get('user')}:{at}"
    added = kind == "reaction_added"
    return [
        inbound(
            context,
            kind="reaction",
            dedupe_keys=(*_event_keys(context), key),
            channel=channel,
            scope=scope_of(channel),
            sender=sender(context, event),
            text=f":{name}:" if added else "",
            reply_to=f"{channel}:{ts}",
            sent_at=moment(at),
            data={"event": kind, "reaction": name},
        )
    ]


def _member(event: Json, context: Context) -> InboundMessage:
    channel, who, kind = identifier(event["channel"]), identifier(event["user"]), identifier(event["type"])
    at = str(event.get("event_ts") or context.raw.get("event_time") or "")
    data: dict[str, JsonValue] = {"event": kind, "member": who}
    if event.get("inviter"):
        data["inviter"] = str(event["inviter"])
    return inbound(
        context,
        kind="membership",
        dedupe_keys=(*_event_keys(context), f"{kind}:{context.account.team_id}:{channel}:{who}:{at}"),
        channel=channel,
        scope=scope_of(channel),
        sender=sender(context, event),
        sent_at=moment(at),
        data=data,
    )


def _gone(event: Json, context: Context) -> Reading:
    """The installation is over, or its bot token is: a person has to act. A user's own token is not ours."""
    code = identifier(event["type"])
    if code == "tokens_revoked" and not event["tokens"].get("bot"):
        return Ignored("user_token_revoked")
    team = context.account.team_id
    return [
        inbound(
            context,
            kind="status",
            dedupe_keys=_event_keys(context) or (f"{code}:{team}:{context.raw.get('event_time')}",),
            channel=team,
            scope="group",
            sender=Sender(id=team),
            status=StatusUpdate(
                "connection", "needs_attention", code=code, detail=GONE_FOR_GOOD[code].format(context.account.title)
            ),
        )
    ]


def _event_keys(context: Context) -> tuple[str, ...]:
    event_id = context.raw.get("event_id")
    return (f"event:{event_id}",) if event_id else ()
