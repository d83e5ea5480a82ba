"""python-telegram-bot's own Bot calls each method of the rehearsed Bot API."""

from __future__ import annotations

from datetime import timedelta

import pytest
from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReactionTypeCustomEmoji,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.constants import ReactionEmoji
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, RetryAfter

from channels.telegram.rehearsal import TelegramRehearsal
from channels.telegram.rehearsal.methods.chats import REACTIONS
from tests.channels.telegram.conftest import YES, a_bot, said


async def test_the_bot_is_who_its_token_says(server, bot):
    me = await bot.get_me()
    assert (me.id, me.username, me.is_bot) == (1000000001, "rehearsal_bot", True)
    assert me.can_read_all_group_messages is True


async def test_a_wrong_token_and_a_malformed_one_are_refused(server):
    async with a_bot(server, "1000000001:" + "X" * 35) as wrong:
        with pytest.raises(InvalidToken, match="Unauthorized"):
            await wrong.get_me()
    async with a_bot(server, "malformed") as malformed:
        with pytest.raises(InvalidToken, match="Not Found"):
            await malformed.get_me()


async def test_a_method_there_is_not_is_not_found(bot):
    with pytest.raises(InvalidToken, match="does not exist"):
        await bot.do_api_request("sendDiceGame")


async def test_a_text_is_sent_with_its_entities(server, bot):
    chat, number = await said(server)
    message = await bot.send_message(chat, "🥐 <b>open</b>", parse_mode="HTML")
    assert (message.text, message.chat.id, message.from_user.id) == ("🥐 open", chat, 1000000001)
    assert message.message_id == number + 1
    assert message.entities == (MessageEntity("bold", 3, 4),)
    plain = await bot.send_message(chat, "open", entities=[MessageEntity("italic", 0, 4)])
    assert plain.entities == (MessageEntity("italic", 0, 4),)
    mark = await bot.send_message(chat, "*open*", parse_mode="MarkdownV2")
    assert mark.entities == (MessageEntity("bold", 0, 4),)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"text": ""}, "message text is empty"),
        ({"text": " \n"}, "text must be non-empty"),
        ({"text": "<b></b>", "parse_mode": "HTML"}, "text must be non-empty"),
        ({"text": "a" * 4097}, "message is too long"),
        ({"text": "<b>" * 12000, "parse_mode": "HTML"}, "text is too long"),
        ({"text": "a", "parse_mode": "Wiki"}, "unsupported parse_mode"),
        ({"text": "<b>a", "parse_mode": "HTML"}, "can't parse entities: Can't find end tag corresponding to start tag"),
        ({"text": "a.", "parse_mode": "MarkdownV2"}, "can't parse entities: Character '.' is reserved"),
        ({"text": "a", "message_thread_id": 5}, "message thread not found"),
        ({"text": "a", "reply_parameters": ReplyParameters(999)}, "message to be replied not found"),
        (
            {"text": "a", "entities": [MessageEntity("bold", 0, 2)]},
            "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 2",
        ),
        (
            {"text": "a", "reply_markup": InlineKeyboardMarkup([[InlineKeyboardButton("x", callback_data="é" * 33)]])},
            "BUTTON_DATA_INVALID",
        ),
    ],
)
async def test_a_text_is_refused_in_telegrams_words(server, bot, params, words):
    chat, _ = await said(server)
    with pytest.raises(BadRequest) as refused:
        await bot.send_message(chat, **params)
    assert words.lower() in refused.value.message.lower()


async def test_4096_characters_after_parsing_are_a_message(server, bot):
    chat, _ = await said(server)
    message = await bot.send_message(chat, "<b>" + "🥐" * 4096 + "</b>", parse_mode="HTML")
    assert len(message.text) == 4096


async def test_a_reply_tells_what_it_answers_and_goes_without_where_it_may(server, bot):
    chat, number = await said(server)
    reply = await bot.send_message(chat, "yes", reply_parameters=ReplyParameters(number))
    assert reply.reply_to_message.message_id == number
    quiet = await bot.send_message(chat, "a.com", link_preview_options=LinkPreviewOptions(is_disabled=True))
    assert quiet.link_preview_options.is_disabled is True
    gone = ReplyParameters(999, allow_sending_without_reply=True)
    assert (await bot.send_message(chat, "yes", reply_parameters=gone)).reply_to_message is None


async def test_a_topic_is_sent_to(server, bot):
    chat, _ = await said(server, chat="bakery", kind="forum", thread=12)
    message = await bot.send_message(chat, "yes", message_thread_id=12)
    assert (message.message_thread_id, message.is_topic_message) == (12, True)


async def test_a_chat_that_the_bot_has_not_met_is_not_found(server, bot):
    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.send_message(12345, "hello")
    chat, _ = await said(server, chat="bakery")
    assert (await bot.get_chat(chat)).title == "bakery"


@pytest.mark.parametrize(
    "words", ["bot was blocked by the user", "user is deactivated", "bot was kicked from the group chat"]
)
async def test_a_chat_that_bars_the_bot_is_forbidden(server, bot, words):
    chat, _ = await said(server)
    await server.say({"bar": words, "chat": str(chat)})
    with pytest.raises(Forbidden, match=words):
        await bot.send_message(chat, "hello")


async def test_a_migrated_group_tells_its_new_id(server, bot):
    chat, _ = await said(server, chat="bakery", kind="group")
    moved = await server.say({"migrate": True, "chat": str(chat)})
    with pytest.raises(ChatMigrated) as refused:
        await bot.send_message(chat, "hello")
    assert refused.value.new_chat_id == int(moved["chat"])
    assert (await bot.send_message(refused.value.new_chat_id, "hello")).chat.type == "supergroup"
    *_, here, there = await bot.get_updates()
    assert here.message.migrate_to_chat_id == there.message.chat.id == int(moved["chat"])
    assert there.message.migrate_from_chat_id == chat


@pytest.mark.parametrize(
    ("method", "field"),
    [("photo", "photo"), ("document", "document"), ("audio", "audio"), ("voice", "voice"), ("video", "video"),
     ("animation", "animation")],
)  # fmt: skip
async def test_a_file_is_sent_fetched_and_sent_again_by_its_id(server, bot, method, field):
    chat, _ = await said(server)
    send = getattr(bot, f"send_{method}")
    message = await send(chat, b"some bytes", caption="<i>a</i>", parse_mode="HTML", filename="a b.bin")
    assert (message.caption, len(message.caption_entities)) == ("a", 1)
    sent = getattr(message, field)
    file_id = (sent[-1] if isinstance(sent, tuple) else sent).file_id
    assert await (await bot.get_file(file_id)).download_as_bytearray() == b"some bytes"
    assert (await send(chat, file_id)).caption is None


async def test_files_are_refused_in_telegrams_words(server, bot):
    chat, _ = await said(server)
    with pytest.raises(BadRequest, match=r"(?i)wrong file identifier/HTTP URL specified"):
        await bot.send_photo(chat, "nothing")
    with pytest.raises(BadRequest, match=r"(?i)there is no photo in the request"):
        await bot._post("sendPhoto", {"chat_id": chat})
    with pytest.raises(BadRequest, match=r"(?i)message caption is too long"):
        await bot.send_photo(chat, b"a", caption="a" * 1025)
    with pytest.raises(BadRequest, match=r"(?i)failed to get HTTP URL content"):
        await bot.send_photo(chat, "https://example.org/a.jpg")
    with pytest.raises(BadRequest, match=r"(?i)file must be non-empty"):
        await bot.send_document(chat, b"")
    with pytest.raises(BadRequest, match=r"(?i)file of size 10485761 bytes is too big for a photo"):
        await bot.send_photo(chat, b"0" * (10 * 1024 * 1024 + 1))
    with pytest.raises(BadRequest, match=r"(?i)invalid file_id"):
        await bot.get_file("nothing")
    server.world.files["large"] = ("a", b"0" * (20 * 1024 * 1024 + 1))
    with pytest.raises(BadRequest, match=r"(?i)file is too big"):
        await bot.get_file("large")


async def test_a_message_is_edited_once_and_only_the_bots_own(server, bot):
    chat, theirs = await said(server)
    message = await bot.send_message(chat, "one", reply_markup=YES)
    edited = await bot.edit_message_text("two", chat, message.message_id)
    assert (edited.text, edited.reply_markup) == ("two", None)
    assert edited.edit_date is not None
    with pytest.raises(BadRequest, match="Message is not modified"):
        await bot.edit_message_text("two", chat, message.message_id)
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("two", chat, 999)
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("two", chat, theirs)


async def test_a_caption_is_edited_and_a_text_is_no_caption(server, bot):
    chat, _ = await said(server)
    photo = await bot.send_photo(chat, b"a", caption="one", reply_markup=YES)
    edited = await bot.edit_message_caption(chat, photo.message_id, caption="<b>two</b>", parse_mode="HTML")
    assert (edited.caption, len(edited.caption_entities), edited.reply_markup) == ("two", 1, None)
    assert (await bot.edit_message_caption(chat, photo.message_id, caption="")).caption is None
    with pytest.raises(BadRequest, match=r"(?i)there is no text in the message to edit"):
        await bot.edit_message_text("two", chat, photo.message_id)
    text = await bot.send_message(chat, "one")
    with pytest.raises(BadRequest, match=r"(?i)there is no caption in the message to edit"):
        await bot.edit_message_caption(chat, text.message_id, caption="two")


async def test_a_channel_is_the_sender_of_what_the_bot_posts_there(server, bot):
    chat, _ = await said(server, chat="paper", kind="channel")
    post = await bot.send_message(chat, "news")
    assert (post.from_user, post.sender_chat.id) == (None, chat)
    assert (await bot.edit_message_text("old news", chat, post.message_id)).text == "old news"


async def test_other_peoples_messages_in_a_group_are_for_an_administrator_to_delete(server, bot):
    chat, number = await said(server, chat="bakery")
    with pytest.raises(BadRequest, match="Message can't be deleted"):
        await bot.delete_message(chat, number)
    await server.say({"member": "administrator", "chat": str(chat)})
    assert await bot.delete_message(chat, number)


async def test_buttons_are_taken_away_once(server, bot):
    chat, _ = await said(server)
    message = await bot.send_message(chat, "one", reply_markup=YES)
    assert (await bot.edit_message_reply_markup(chat, message.message_id)).reply_markup is None
    with pytest.raises(BadRequest, match="Message is not modified"):
        await bot.edit_message_reply_markup(chat, message.message_id)


async def test_a_message_is_deleted_once(server, bot):
    chat, number = await said(server)
    assert await bot.delete_message(chat, number)
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await bot.delete_message(chat, number)


async def test_actions_reactions_and_commands_are_taken(server, bot):
    chat, number = await said(server)
    assert await bot.send_chat_action(chat, "typing")
    with pytest.raises(BadRequest, match="Wrong parameter action in request"):
        await bot.send_chat_action(chat, "sleeping")
    assert await bot.set_message_reaction(chat, number, "👍")
    with pytest.raises(BadRequest, match="Message to react not found"):
        await bot.set_message_reaction(chat, 999, "👍")
    assert await bot.send_chat_action(chat, "typing", message_thread_id=0)
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_chat_action(chat, "typing", message_thread_id=9)


def test_every_reaction_that_the_library_knows_is_known():
    assert {emoji.value.replace("\ufe0f", "") for emoji in ReactionEmoji} == REACTIONS


async def test_a_reaction_is_one_that_telegram_knows(server, bot):
    chat, number = await said(server)
    assert await bot.set_message_reaction(chat, number, [])
    assert await bot.set_message_reaction(chat, number, ReactionEmoji.HEART_ON_FIRE)
    assert await bot.set_message_reaction(chat, number, ReactionTypeCustomEmoji("5368324170671202286"))
    for wrong, words in (
        (ReactionTypeEmoji("🚀"), "Reaction_invalid"),
        (["👍", "👎"], "Reactions_too_many"),
    ):
        with pytest.raises(BadRequest, match=words):
            await bot.set_message_reaction(chat, number, wrong)
    for wrong, words in (
        ("{", "Can't parse reaction types json object"),
        ('{"type": "emoji"}', "Expected an array of reactiontype"),
        ("[5]", "Expected an object"),
        ('[{"type": "smell"}]', "Invalid reaction type specified"),
    ):
        with pytest.raises(BadRequest, match=f"(?i){words}"):
            await bot._post("setMessageReaction", {"chat_id": chat, "message_id": number, "reaction": wrong})


async def test_commands_are_kept_and_checked(bot):
    assert await bot.set_my_commands([("start", "Begin"), ("/help", "Explain")])
    assert [(c.command, c.description) for c in await bot.get_my_commands()] == [
        ("start", "Begin"),
        ("help", "Explain"),
    ]
    assert await bot.delete_my_commands()
    assert await bot.get_my_commands() == ()
    for command, words in (
        (("", "a"), "Command must be non-empty"),
        (("a" * 33, "a"), "Command length must not exceed 32"),
        (("a", ""), "Command description must be non-empty"),
        (("a", "a" * 257), "Command description length must not exceed 256"),
        (("Start", "a"), "Bot_command_invalid"),
    ):
        with pytest.raises(BadRequest, match=words):
            await bot.set_my_commands([command])
    with pytest.raises(BadRequest, match="Bot_commands_too_much"):
        await bot.set_my_commands([(f"c{n}", "a") for n in range(101)])


async def test_a_press_comes_as_a_query_that_is_answered_once(server, bot):
    chat, _ = await said(server)
    message = await bot.send_message(chat, "sure?", reply_markup=YES)
    await server.say({"press": "Yes", "chat": str(chat)})
    *_, update = await bot.get_updates()
    assert (update.callback_query.data, update.callback_query.message.message_id) == ("yes", message.message_id)
    assert await update.callback_query.answer()
    with pytest.raises(BadRequest, match=r"(?i)query is too old and response timeout expired or query id is invalid"):
        await update.callback_query.answer()


async def test_a_chat_has_its_pace():
    async with TelegramRehearsal(per_chat=30.0) as server, a_bot(server) as bot:
        chat, _ = await said(server)
        await bot.send_message(chat, "one")
        with pytest.raises(RetryAfter) as refused:
            await bot.send_message(chat, "two")
        assert refused.value._retry_after == timedelta(seconds=30)
        other, _ = await said(server, user="Lee")
        await bot.send_message(other, "one")
