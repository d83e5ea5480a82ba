"""What the bot shows and learns in a chat without writing there."""

from __future__ import annotations

from typing import Any

from channels.telegram.rehearsal.errors import ApiError, bad_request
from channels.telegram.rehearsal.methods.bot import Bot, Json, Method
from channels.telegram.rehearsal.params import field_of, integer, unpacked

ACTIONS = {
    "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
    "choose_sticker", "find_location", "record_video_note", "upload_video_note",
}  # fmt: skip
ACTION_SECONDS = 5.0
"""How long an action shows, from the Bot API's documentation."""

GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
REACTIONS = {
    "👍", "👎", "❤", "🔥", "🥰", "👏", "😁", "🤔", "🤯", "😱", "🤬", "😢", "🎉", "🤩", "🤮", "💩", "🙏", "👌", "🕊",
    "🤡", "🥱", "🥴", "😍", "🐳", "❤\u200d🔥", "🌚", "🌭", "💯", "🤣", "⚡", "🍌", "🏆", "💔", "🤨", "😐", "🍓",
    "🍾", "💋", "🖕", "😈", "😴", "😭", "🤓", "👻", "👨\u200d💻", "👀", "🎃", "🙈", "😇", "😨", "🤝", "✍", "🤗",
    "🫡", "🎅", "🎄", "☃", "💅", "🤪", "🗿", "🆒", "💘", "🙉", "🦄", "😘", "💊", "🙊", "😎", "👾", "🤷\u200d♂",
    "🤷", "🤷\u200d♀", "😡",
}  # fmt: skip
"""The emoji that Telegram takes as reactions, from the Bot API's documentation."""

SELECTOR = "\ufe0f"
"""Asks for the coloured form of a character; it makes no difference here."""


async def get_chat(bot: Bot, params: Json) -> Json:
    """Only a chat that the bot has met is found."""
    info = bot.world.chat(params.get("chat_id")).info
    gifts = dict.fromkeys(GIFTS, False)
    return {**info, "accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}


async def send_chat_action(bot: Bot, params: Json) -> bool:
    """Shown for five seconds, or until the next message."""
    action = str(params.get("action", "")).lower()
    if action not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    chat = bot.world.chat(params.get("chat_id"))
    if integer(params, "message_thread_id") not in {0, *chat.topics}:
        raise bad_request("message thread not found")
    bot.typing(str(chat.id), ACTION_SECONDS)
    return True


async def answer_callback_query(bot: Bot, params: Json) -> bool:
    """Each press is answered once."""
    query = str(params.get("callback_query_id", ""))
    if query not in bot.world.queries:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    bot.world.queries.remove(query)
    return True


async def set_message_reaction(bot: Bot, params: Json) -> bool:
    """A bot has one reaction to a message; an empty list takes it away."""
    given = unpacked(params, "reaction", "can't parse reaction types JSON object")
    if given is None:
        given = []
    if not isinstance(given, list):
        raise bad_request("expected an Array of ReactionType")
    reactions = [_reaction(reaction) for reaction in given]
    chat, message = bot.world.message(params, integer(params, "message_id"), "message to react")
    if len(reactions) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    if any(r["type"] == "emoji" and r["emoji"].replace(SELECTOR, "") not in REACTIONS for r in reactions):
        raise bad_request("REACTION_INVALID")
    chat.reactions[message["message_id"], bot.world.bot["id"]] = reactions
    return True


def _reaction(given: Any) -> Json:
    if not isinstance(given, dict):
        raise _unreadable("expected an Object")
    match field_of(given, "type", str, _unreadable, required=True):
        case "emoji":
            return {"type": "emoji", "emoji": field_of(given, "emoji", str, _unreadable, required=True)}
        case "custom_emoji":
            custom = field_of(given, "custom_emoji_id", str, _unreadable, required=True)
            return {"type": "custom_emoji", "custom_emoji_id": custom}
        case _:
            raise _unreadable("invalid reaction type specified")


def _unreadable(problem: str) -> ApiError:
    return bad_request(f"can't parse ReactionType: {problem}")


METHODS: dict[str, Method] = {
    "getChat": get_chat,
    "sendChatAction": send_chat_action,
    "answerCallbackQuery": answer_callback_query,
    "setMessageReaction": set_message_reaction,
}
