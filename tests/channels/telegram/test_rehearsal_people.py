"""What people do on rehearsed phones, as python-telegram-bot's own Bot sees it."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from telegram import Bot, Update
from telegram.error import BadRequest, ChatMigrated, Forbidden

from channels.rehearsal import RehearsalClient
from channels.telegram.rehearsal import TelegramRehearsal
from tests.channels.telegram.conftest import YES, a_bot, said

ALL = ["message", "edited_message", "channel_post", "edited_channel_post", "callback_query", "message_reaction",
       "my_chat_member", "chat_member"]  # fmt: skip


async def news(bot: Bot) -> list[Update]:
    """What came since the last time."""
    updates = await bot.get_updates(allowed_updates=ALL)
    if updates:
        await bot.get_updates(offset=updates[-1].update_id + 1)
    return list(updates)


async def latest(bot: Bot, server: TelegramRehearsal, **request: Any) -> Update:
    await server.say(request)
    return (await bot.get_updates(allowed_updates=ALL))[-1]


async def test_what_people_do_comes_as_telegram_would_send_it(server, bot):
    await bot.get_updates(allowed_updates=ALL)
    text = await latest(bot, server, text="/start@rehearsal_bot see https://example.org @dana_poe", user="Dana")
    assert [e.type for e in text.message.entities] == ["bot_command", "url", "mention"]
    assert text.effective_user.first_name == "Dana"
    assert text.effective_chat.id == text.effective_user.id > 2**32

    group = await latest(bot, server, text="hi", chat="bakery", anonymous=True)
    assert group.message.from_user.is_bot
    assert group.message.sender_chat.id == group.effective_chat.id < -(2**31)

    topic = await latest(bot, server, text="hi", chat="shop", kind="forum", thread=7)
    assert topic.message.is_topic_message
    assert topic.message.reply_to_message.forum_topic_created is not None

    post = await latest(bot, server, text="news", chat="paper", kind="channel")
    assert (post.channel_post.text, post.effective_user) == ("news", None)

    album = await server.say({"text": "two", "files": [{"kind": "photo"}, {"kind": "photo"}]})
    *_, one, two = (await bot.get_updates())[-2:]
    assert one.message.media_group_id == two.message.media_group_id is not None
    assert (one.message.caption, two.message.caption) == ("two", None)

    edit = await latest(bot, server, text="three", edit=album["ref"])
    assert edit.edited_message.caption == "three"
    reaction = await latest(bot, server, react="👍", to=album["ref"])
    assert reaction.message_reaction.new_reaction[0].emoji == "👍"
    member = await latest(bot, server, member="administrator", chat="bakery")
    assert member.my_chat_member.new_chat_member.status == "administrator"
    place = await latest(bot, server, location={"latitude": 1.5, "longitude": 2.5})
    assert place.message.location.latitude == 1.5
    reply = await latest(bot, server, text="yes", reply_to=album["ref"])
    assert reply.message.reply_to_message.message_id == one.message.message_id


@pytest.mark.parametrize(
    "request_",
    [{"text": ""}, {"press": "No"}, {"edit": "1:99"}, {"kind": "planet", "chat": "x", "text": "a"},
     {"text": "a", "files": [{"kind": "hologram"}]}, {"react": "👍"}, {"text": "a", "reply_to": "1:99"},
     {"text": "a", "reply_to": "first"}, {"txt": "a"}, {"text": "a", "kind": "group"}, {"text": "a", "thread": 5},
     {"text": "a", "files": [{"base64": "?"}]}, {"text": "a", "files": [{"kind": "photo"}] * 11}, {"member": "king"},
     {"joins": True}, {"react": "👍", "to": "9"}, {"text": "a" * 4097, "entities": [{"type": "bold"}]}, {"user": ""}],
)  # fmt: skip
async def test_what_cannot_be_said_is_refused(server, request_):
    async with RehearsalClient(server.url) as client:
        with pytest.raises(ValueError, match="Unsayable"):
            await client.say(**request_)


async def test_a_name_is_the_same_person_everywhere_and_a_private_chat_is_its_owners(server, bot):
    dm, _ = await said(server, user="Dana")
    group, _ = await said(server, user="Dana", chat="bakery")
    by_id, _ = await said(server, chat=str(dm), user="Lee")
    assert dm == by_id
    assert {u.effective_user.id for u in await news(bot)} == {dm}
    assert group < 0
    new, _ = await said(server, chat="6123456789")
    (update,) = await news(bot)
    assert update.effective_chat.id == update.effective_user.id == new == 6123456789


@pytest.mark.parametrize(
    ("how", "kind", "below"),
    [
        ({"chat": "a", "kind": "group"}, "group", 0),
        ({"chat": "a", "kind": "supergroup"}, "supergroup", -1_000_000_000_000),
        ({"chat": "a", "kind": "channel"}, "channel", -1_000_000_000_000),
        ({"chat": "a"}, "supergroup", -1_000_000_000_000),
        ({"chat": "-4123456789"}, "group", 0),
        ({"chat": -1001234567890}, "supergroup", -1_000_000_000_000),
        ({"chat": "Lee", "kind": "dm"}, "private", 2**53),
    ],
)
async def test_a_chat_is_of_the_kind_it_is_said_to_be_or_its_id_tells(server, bot, how, kind, below):
    chat, _ = await said(server, **how)
    assert (await bot.get_chat(chat)).type == kind
    assert chat < below


async def test_a_long_text_comes_in_the_pieces_an_app_makes_of_it(server, bot):
    await said(server, "a" * 4096 + "b")
    assert [len(u.message.text) for u in await news(bot)] == [4096, 1]


async def test_a_text_comes_trimmed_and_with_the_entities_that_were_given(server, bot):
    dana, _ = await said(server, user="Dana")
    mention = {"type": "text_mention", "offset": 2, "length": 4, "user": server.world.people[dana]}
    await said(server, "  Dana \n", entities=[mention])
    *_, update = await news(bot)
    assert update.message.text == "Dana"
    (entity,) = update.message.entities
    assert (entity.type, entity.offset, entity.user.id) == ("text_mention", 0, dana)


@pytest.mark.parametrize("kind", ["photo", "document", "voice", "audio", "video", "sticker", "animation", "video_note"])
async def test_a_file_comes_with_its_bytes(server, bot, kind):
    content = base64.b64encode(b"bytes").decode()
    await server.say({"text": "see", "files": [{"kind": kind, "base64": content, "name": "a.bin"}]})
    (update,) = await news(bot)
    file = getattr(update.message, kind)
    fetched = await bot.get_file((file[-1] if kind == "photo" else file).file_id)
    assert await fetched.download_as_bytearray() == b"bytes"
    assert update.message.caption == "see"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("contact", {"phone_number": "+15550100", "first_name": "Lee"}),
        ("venue", {"location": {"latitude": 1, "longitude": 2}, "title": "Bakery", "address": "Main St"}),
        ("dice", {"emoji": "🎲", "value": 6}),
    ],
)
async def test_other_things_are_sent_as_they_are_given(server, bot, kind, value):
    await server.say({kind: value})
    (update,) = await news(bot)
    assert getattr(update.message, kind) is not None


async def test_an_edit_that_changes_nothing_is_told_to_nobody(server, bot):
    done = await server.say({"text": "a"})
    await server.say({"text": "a ", "edit": done["ref"]})
    assert len(await news(bot)) == 1
    await server.say({"text": "see https://example.org", "edit": done["ref"]})
    (update,) = await news(bot)
    assert update.edited_message.edit_date is not None
    assert [e.type for e in update.edited_message.entities] == ["url"]
    post = await server.say({"text": "a", "chat": "paper", "kind": "channel"})
    await server.say({"text": "b", "edit": post["ref"], "chat": post["chat"]})
    assert (await news(bot))[-1].edited_channel_post.text == "b"


async def test_a_reply_shows_one_message_deep(server, bot):
    one = await server.say({"text": "one"})
    two = await server.say({"text": "two", "reply_to": one["ref"]})
    await server.say({"text": "three", "reply_to": two["ref"]})
    *_, update = await news(bot)
    assert update.message.reply_to_message.text == "two"
    assert update.message.reply_to_message.reply_to_message is None


async def test_a_reaction_tells_what_it_was_before(server, bot):
    await bot.get_updates(allowed_updates=ALL)
    done = await server.say({"text": "a"})
    for emoji in ("👍", "❤", ""):
        await server.say({"react": emoji, "to": done["ref"]})
    _, *changes = await news(bot)
    before = [[r.emoji for r in u.message_reaction.old_reaction] for u in changes]
    after = [[r.emoji for r in u.message_reaction.new_reaction] for u in changes]
    assert (before, after) == ([[], ["👍"], ["❤"]], [["👍"], ["❤"], []])
    group = await server.say({"text": "a", "chat": "bakery"})
    await server.say({"react": "👍", "to": group["ref"], "chat": group["chat"], "anonymous": True})
    *_, update = await news(bot)
    assert update.message_reaction.user is None
    assert update.message_reaction.actor_chat.id == int(group["chat"])


async def test_a_button_is_found_by_its_label_or_its_data_under_the_latest_or_a_named_message(server, bot):
    chat, _ = await said(server)
    first = await bot.send_message(chat, "one", reply_markup=YES)
    second = await bot.send_message(chat, "two", reply_markup=YES)
    await server.say({"press": "yes"})
    await server.say({"press": "Yes", "message": f"{chat}:{first.message_id}"})
    pressed = [u.callback_query.message.message_id for u in (await news(bot))[1:]]
    assert pressed == [second.message_id, first.message_id]


async def test_privacy_mode_hides_what_is_not_for_the_bot():
    async with TelegramRehearsal(sees_all=False) as server, a_bot(server) as bot:
        chat, _ = await said(server, "/start", chat="bakery")
        ours = await bot.send_message(chat, "hello")
        for text in ("small talk", "@rehearsal_bot hi", "/menu@other_bot", "/menu@Rehearsal_Bot now"):
            await said(server, text, chat="bakery")
        await said(server, "thanks", chat="bakery", reply_to=str(ours.message_id))
        await server.say({"joins": True, "user": "Lee", "chat": "bakery"})
        await said(server, "in private")
        await server.say({"member": "administrator", "chat": "bakery"})
        await said(server, "small talk", chat="bakery")
        texts = [u.message.text for u in await bot.get_updates() if u.message]
    assert texts == ["/start", "/menu@Rehearsal_Bot now", "thanks", None, "in private", "small talk"]


async def test_the_bot_is_added_promoted_and_removed(server, bot):
    chat, _ = await said(server, chat="bakery", kind="group")
    await news(bot)
    for now in ("administrator", "kicked"):
        await server.say({"member": now, "chat": str(chat)})
    with pytest.raises(Forbidden, match="bot was kicked from the group chat"):
        await bot.send_message(chat, "hello")
    await server.say({"member": "left", "chat": str(chat)})
    with pytest.raises(Forbidden, match="bot is not a member of the group chat"):
        await bot.send_message(chat, "hello")
    await server.say({"member": "member", "chat": str(chat), "user": "Dana"})
    assert await bot.send_message(chat, "hello")
    *changes, service = await news(bot)
    told = [(u.my_chat_member.old_chat_member.status, u.my_chat_member.new_chat_member.status) for u in changes]
    assert told == [("member", "administrator"), ("administrator", "kicked"), ("kicked", "left"), ("left", "member")]
    assert [user.id for user in service.message.new_chat_members] == [server.world.bot["id"]]


async def test_a_user_blocks_the_bot_and_writes_again(server, bot):
    chat, _ = await said(server)
    await server.say({"member": "kicked", "chat": str(chat)})
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(chat, "hello")
    await said(server, "/start")
    assert await bot.send_message(chat, "hello")
    told = [u.my_chat_member and u.my_chat_member.new_chat_member.status for u in await news(bot)]
    assert told == [None, "kicked", "member", None]


async def test_people_come_and_go(server, bot):
    await bot.get_updates(allowed_updates=ALL)
    await server.say({"joins": True, "user": "Lee", "chat": "bakery"})
    await server.say({"leaves": True, "user": "Lee", "chat": "bakery"})
    came, went = await news(bot)
    assert came.message.new_chat_members[0].first_name == went.message.left_chat_member.first_name == "Lee"
    await server.say({"member": "administrator", "chat": "bakery"})
    await server.say({"joins": True, "user": "Lee", "chat": "bakery"})
    _, member, _ = await news(bot)
    assert member.chat_member.new_chat_member.status == "member"


async def test_a_group_becomes_a_supergroup_once(server, bot):
    chat, _ = await said(server, chat="bakery", kind="group")
    moved = await server.say({"migrate": True, "chat": str(chat)})
    assert (await bot.get_chat(int(moved["chat"]))).title == "bakery"
    with pytest.raises(ChatMigrated):
        await bot._post("getChat", {"chat_id": chat})
    for wrong in ({"migrate": True, "chat": str(chat)}, {"migrate": True}):
        with pytest.raises(ValueError, match="only a group"):
            await server.say(wrong)


async def test_a_person_who_never_wrote_in_private_cannot_be_written_to(server, bot):
    await said(server, user="Lee", chat="bakery")
    lee = next(person for person in server.world.people if server.world.people[person]["first_name"] == "Lee")
    with pytest.raises(Forbidden, match="bot can't initiate conversation with a user"):
        await bot.send_message(lee, "hello")


async def test_a_chat_remembers_its_latest_messages(server, bot, monkeypatch):
    monkeypatch.setattr("channels.telegram.rehearsal.world.KEPT", 2)
    chat, number = await said(server)
    for text in ("a", "b"):
        await bot.send_message(chat, text)
    with pytest.raises(BadRequest, match="not found"):
        await bot.set_message_reaction(chat, number, "👍")


async def test_another_bot_is_one_and_what_the_bot_said_is_not_a_persons_to_edit(server, bot):
    chat, _ = await said(server, chat="bakery", as_bot=True)
    (update,) = await news(bot)
    assert update.effective_user.is_bot is True
    ours = await bot.send_message(chat, "hello")
    with pytest.raises(ValueError, match="only the bot"):
        await server.say({"text": "bye", "edit": str(ours.message_id), "chat": str(chat)})


async def test_joining_a_channel_is_told_to_its_administrators_alone(server, bot):
    await bot.get_updates(allowed_updates=ALL)
    await server.say({"joins": True, "user": "Lee", "chat": "paper", "kind": "channel"})
    assert await news(bot) == []
    await server.say({"member": "administrator", "chat": "paper", "kind": "channel"})
    await server.say({"leaves": True, "user": "Lee", "chat": "paper", "kind": "channel"})
    assert [u.chat_member and u.chat_member.new_chat_member.status for u in await news(bot)] == [None, "left"]


async def test_reset_forgets_people_and_keeps_how_updates_come(server, bot):
    await bot.get_updates(allowed_updates=["message"])
    chat, _ = await said(server)
    async with RehearsalClient(server.url) as client:
        await client.reset()
    assert await bot.get_updates() == ()
    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.send_message(chat, "hello")
    await server.say({"member": "administrator", "chat": "bakery"})
    await said(server, "again")
    assert [u.message.text for u in await bot.get_updates()] == ["again"]
