"""Messages that the bot changes or takes back."""

from __future__ import annotations

import time

from channels.telegram.rehearsal.errors import bad_request
from channels.telegram.rehearsal.keyboard import check_data, inline, keyboard, shown
from channels.telegram.rehearsal.methods.bot import Bot, Json, Method
from channels.telegram.rehearsal.params import integer
from channels.telegram.rehearsal.wording import Wording
from channels.telegram.rehearsal.world import Chat

SAME = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current content"
    " and reply markup of the message"
)


async def edit_message_text(bot: Bot, params: Json) -> Json:
    """Only the bot's own message, and only into something else."""
    return await _reword(bot, "editMessageText", params, "text")


async def edit_message_caption(bot: Bot, params: Json) -> Json:
    """As the text, under a file."""
    return await _reword(bot, "editMessageCaption", params, "caption")


async def edit_message_reply_markup(bot: Bot, params: Json) -> Json:
    """Without a markup the buttons go."""
    markup = keyboard(params)
    chat, message = _own(bot, params)
    check_data(markup)
    if inline(markup).get("reply_markup") == message.get("reply_markup"):
        raise bad_request(SAME)
    return _changed(chat, message, ("reply_markup",), inline(markup))


async def delete_message(bot: Bot, params: Json) -> bool:
    """Gone means gone: a second time it is not found."""
    if params.get("chat_id") in (None, ""):
        raise bad_request("chat identifier is not specified")
    number = integer(params, "message_id")
    if number <= 0:
        raise bad_request("message identifier is not specified")
    chat, _ = bot.world.message(params, number, "message to delete")
    if number not in chat.own and chat.kind != "private" and chat.standing != "administrator":
        raise bad_request("message can't be deleted")
    del chat.messages[number]
    return True


async def _reword(bot: Bot, method: str, params: Json, field: str) -> Json:
    wording = Wording(params, field)
    markup = keyboard(params)
    chat, message = _own(bot, params)
    if field == "text" and "text" not in message:
        raise bad_request("there is no text in the message to edit")
    if field == "caption" and "text" in message:
        raise bad_request("there is no caption in the message to edit")
    fields = {**wording.settled(bot.world.people).as_fields(field), **inline(markup)}
    check_data(markup)
    names = (field, "entities" if field == "text" else "caption_entities", "reply_markup")
    if fields == {name: message[name] for name in names if name in message}:
        raise bad_request(SAME)
    bot.pace.spend(chat)
    message = _changed(chat, message, names, fields)
    number = str(chat.id)
    ref = f"{number}:{message['message_id']}"
    text = fields.get(field, "")
    await bot.said(number, ref, text, method, markup=wording.source, buttons=shown(markup))
    return message


def _own(bot: Bot, params: Json) -> tuple[Chat, Json]:
    number = integer(params, "message_id")
    if params.get("chat_id") in (None, "") and number <= 0:
        raise bad_request("message identifier is not specified")
    chat, message = bot.world.message(params, number, "message to edit")
    if number not in chat.own:
        raise bad_request("message can't be edited")
    return chat, message


def _changed(chat: Chat, message: Json, names: tuple[str, ...], fields: Json) -> Json:
    """Another message in its place: what was answered before stays as it was."""
    rest = {name: value for name, value in message.items() if name not in names}
    after = {**rest, **fields, "edit_date": int(time.time())}
    chat.messages[message["message_id"]] = after
    return after


METHODS: dict[str, Method] = {
    "editMessageText": edit_message_text,
    "editMessageCaption": edit_message_caption,
    "editMessageReplyMarkup": edit_message_reply_markup,
    "deleteMessage": delete_message,
}
