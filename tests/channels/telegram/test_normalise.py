"""Updates as Telegram sends them, and what each becomes."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram.constants import MessageType

from channels.errors import PayloadError
from channels.message import Attachment, Command, Conversation, InboundMessage, gather
from channels.telegram.content import DATA, FILES, NAMED, SERVICE
from channels.telegram.entities import mentions, slices
from channels.telegram.normalise import ALLOWED_UPDATES, Account, normalise

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SHOP = Account(1000000001, "shop_bot")
FIXTURES = Path(__file__).parent / "fixtures"
DANA, GROUP, CHANNEL = "7000000001", "-1002147483649", "-1009876543210"


def load(name: str) -> dict[str, Any]:
    update: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text())
    return update


def read(update: dict[str, Any]) -> list[InboundMessage]:
    return normalise(update, account=SHOP, connection_id="line", received_at=NOW)


def one(name: str) -> InboundMessage:
    (message,) = read(load(name))
    return message


def file(kind: str, ref: str = "AgAC-file", **more: Any) -> tuple[Attachment, ...]:
    return (Attachment(kind=kind, provider_ref=ref, **more),)  # type: ignore[arg-type]


LARGEST = file("image", "AgAC-large", media_type="image/jpeg", size=88112)

SATURDAY = {"title": "Saturday", "tasks": [{"id": 1, "text": "flour"}, {"id": 2, "text": "salt"}]}

EXPECTED: dict[str, dict[str, Any]] = {
    "dm_text": {"kind": "message", "scope": "dm", "text": "when are you open?", "chat": DANA, "mentions_bot": False},
    "group_text": {"kind": "message", "scope": "group", "chat": GROUP, "mentions_bot": False},
    "group_mention": {"mentions_bot": True, "text": "hey @Shop_Bot open today?"},
    "group_text_mention": {"mentions_bot": True},
    "group_link_mention": {"mentions_bot": True},
    "group_mention_of_another": {"mentions_bot": False},
    "mention_after_emoji": {"mentions_bot": True},
    "command_dm": {"kind": "command", "command": Command("start", "a  b"), "text": "/start a  b"},
    "command_to_us": {"kind": "command", "command": Command("open", "sunday 🏟"), "mentions_bot": True},
    "command_to_another": {"kind": "message", "command": None, "mentions_bot": False},
    "command_later": {"kind": "message", "command": None, "mentions_bot": False},
    "reply_to_bot": {"reply_to": f"{GROUP}:40", "mentions_bot": True},
    "reply_to_person": {"reply_to": f"{GROUP}:40", "mentions_bot": False},
    "topic_message": {"thread": "12", "reply_to": None, "mentions_bot": False},
    "topic_reply": {"thread": "12", "reply_to": f"{GROUP}:41", "mentions_bot": True},
    "dm_reply_with_thread": {"thread": None, "reply_to": f"{DANA}:33"},
    "anonymous_admin": {"sender": (GROUP, "Bakery", ""), "bot": False, "self": False},
    "channel_post": {"scope": "channel", "kind": "message", "sender": (CHANNEL, "News", "bakery_news"), "bot": False},
    "edited_channel_post": {"scope": "channel", "kind": "edit"},
    "linked_channel_forward": {"scope": "group", "sender": (CHANNEL, "News", "bakery_news"), "bot": False},
    "edited_message": {"kind": "edit", "text": "when are you open on sunday?"},
    "edited_command": {"kind": "edit", "command": Command("start")},
    "callback": {
        "kind": "action", "chat": GROUP, "thread": "12", "mentions_bot": True, "text": "2026-01-02",
        "action": ("slot", "2026-01-02", "4382bfdwdsb323b2d9", f"{GROUP}:50"),
    },
    "callback_id_only": {"scope": "dm", "action": ("yes", "yes", "4382bfdwdsb323b2da", f"{DANA}:51")},
    "callback_old_message": {"chat": GROUP, "action": ("yes", "yes", "4382bfdwdsb323b2db", f"{GROUP}:52")},
    "callback_without_message": {"scope": "dm", "chat": DANA, "action": ("yes", "yes", "4382bfdwdsb323b2dc", "")},
    "reaction": {
        "kind": "reaction", "text": "👍 5368324170671202286 paid", "reply_to": f"{GROUP}:40",
        "sender": (DANA, "Dana Poe", "dana_poe"), "data.reactions": ["👍", "5368324170671202286", "paid"],
    },
    "reaction_taken_back_anonymously": {"kind": "reaction", "text": "", "sender": (GROUP, "anonymous", "")},
    "bot_added": {"kind": "membership", "chat": GROUP, "data.was": "left", "data.is": "member"},
    "bot_blocked": {"kind": "membership", "scope": "dm", "data.event": "my_chat_member", "data.is": "kicked"},
    "new_members": {"kind": "membership", "data.event": "new_chat_members"},
    "pinned": {"kind": "membership", "data.event": "pinned_message"},
    "boosted": {"kind": "membership", "data.event": "boost_added"},
    "migrated_to": {"kind": "membership", "scope": "group", "chat": "-4123456789", "data.moved_to": GROUP},
    "migrated_from": {"kind": "membership", "chat": GROUP, "data.moved_from": "-4123456789"},
    "photo": {"kind": "message", "text": "", "attachments": LARGEST},
    "photo_captioned": {"text": "🏟 @shop_bot is this yours?", "mentions_bot": True, "attachments": LARGEST},
    "album_item": {"group_id": "13378217643", "text": "two of them", "attachments": LARGEST},
    "document": {
        "text": "the menu",
        "attachments": file("document", media_type="application/pdf", size=4711, name="menu.pdf"),
    },
    "animation": {"attachments": file("animation", media_type="video/mp4", name="a.mp4")},
    "audio": {"attachments": file("audio", media_type="audio/mpeg", size=9, name="song.mp3")},
    "voice": {"text": "", "attachments": file("voice", media_type="audio/ogg", size=7000)},
    "video_note": {"attachments": file("video", media_type="video/mp4")},
    "video": {"text": "look", "attachments": file("video", media_type="video/quicktime", name="v.mov")},
    "sticker": {"text": "👍", "attachments": file("sticker")},
    "location": {"text": "Location: 52.52, 13.405", "data.location": {"latitude": 52.52, "longitude": 13.405}},
    "venue": {"text": "Location: Bakery, Main St 1 (52.52, 13.405)"},
    "contact": {"text": "Contact: Lee, +14155550100"},
    "poll": {"text": "Poll: When? (today, never)"},
    "dice": {"text": "🎲 4", "data.dice": {"emoji": "🎲", "value": 4}},
    "paid_media": {
        "text": "two for a star",
        "attachments": LARGEST
        + file("video", "BAAC-video", media_type="video/mp4")
        + file("video", "BAAC-live", media_type="video/quicktime", size=90000),
    },
    "live_photo": {"text": "", "attachments": LARGEST},
    "story": {"kind": "message", "text": "Story"},
    "checklist": {"text": "Checklist: Saturday (flour, salt)", "data.checklist": SATURDAY},
    "game": {"kind": "message", "text": "Game: Bread Run", "attachments": ()},
    "gift": {"kind": "membership", "data.event": "gift", "text": ""},
    "shared_contacts": {"kind": "membership", "data.event": "users_shared"},
    "other_bot": {"bot": True, "self": False, "sender": ("9", "Other", "other_bot")},
    "own_message": {"bot": False, "self": True},
}  # fmt: skip


def seen(message: InboundMessage, field: str) -> Any:
    match field:
        case "chat":
            return message.conversation.chat_id
        case "thread":
            return message.conversation.thread_id
        case "sender":
            return message.sender.id, message.sender.name, message.sender.handle
        case "bot":
            return message.sender.is_bot
        case "self":
            return message.sender.is_self
        case "action":
            action = message.action
            return action and (action.id, action.value, action.ack_ref, action.message_ref)
        case _ if field.startswith("data."):
            return message.data[field.removeprefix("data.")]
        case _:
            return getattr(message, field)


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_each_situation_becomes_what_it_means(name, expected):
    message = one(name)
    assert {field: seen(message, field) for field in expected} == expected
    assert message.raw == load(name)
    assert InboundMessage.from_json(message.to_json()) == message


def test_every_fixture_is_in_the_table():
    assert {path.stem for path in FIXTURES.glob("*.json")} == {*EXPECTED, "inline_query"}


def test_everything_a_message_can_be_is_known():
    frame = {"business_connection_id", "effect_id", "reply_to_story", "sender_boost_count", "sender_business_bot"}
    frame |= {"suggested_post_info"}
    content = {"text", "photo", *FILES, *DATA, *NAMED}
    assert {str(kind.value) for kind in MessageType} <= frame | content | SERVICE
    assert not SERVICE & (frame | content)


def test_kinds_that_no_agent_could_use_are_no_messages():
    assert read(load("inline_query")) == []
    assert read({"update_id": 1}) == []


def test_a_message_carries_its_frame():
    message = one("dm_text")
    assert message.conversation == Conversation("line", DANA)
    assert message.channel == "telegram"
    assert message.message_ref == f"{DANA}:101"
    assert message.dedupe_keys == ("update:500000101", f"message:{DANA}:101")
    assert message.sent_at == datetime(2026, 1, 2, 3, 0, tzinfo=UTC)
    assert message.received_at == NOW
    assert one("group_text").data["chat_title"] == "Bakery"


def test_an_edit_is_not_a_duplicate_of_its_message_nor_of_another_edit():
    original, edited = load("dm_text"), load("edited_message")
    edited["edited_message"]["message_id"] = original["message"]["message_id"]
    again = copy.deepcopy(edited)
    again["update_id"] += 1
    again["edited_message"]["edit_date"] += 1
    keys = [key for update in (original, edited, again) for key in read(update)[0].dedupe_keys]
    assert len(set(keys)) == 6


def test_the_same_update_twice_shares_its_keys_and_its_id():
    assert one("dm_text").id == one("dm_text").id
    again = load("dm_text") | {"update_id": 1}
    assert set(read(again)[0].dedupe_keys) & set(one("dm_text").dedupe_keys)


def test_a_topics_first_message_is_no_reply_however_it_is_told():
    update = load("topic_message")
    del update["message"]["reply_to_message"]["forum_topic_created"]
    (message,) = read(update)
    assert (message.reply_to, message.mentions_bot) == (None, False)


def test_album_items_are_gathered_into_one():
    update = load("album_item")
    update["message"]["message_id"] += 1
    del update["message"]["caption"]
    both = gather((one("album_item"), read(update)[0]))
    assert both.text == "two of them"
    assert len(both.attachments) == 2


@pytest.mark.parametrize(
    ("url", "ours"),
    [
        ("t.me/shop_bot", True), ("HTTPS://T.ME/SHOP_BOT/", True), ("https://telegram.me/shop_bot", True),
        ("tg://resolve?domain=shop_bot", True), ("tg://user?id=1000000001", True), ("tg://user?id=1", False),
        ("https://t.me/shop_bot2", False), ("https://t.me/shop_bot/5", False),
        ("https://evil.example/t.me/shop_bot", False), ("https://nott.me/shop_bot", False),
    ],
)  # fmt: skip
def test_only_a_link_to_the_bot_itself_is_a_mention(url, ours):
    update = load("group_link_mention")
    update["message"]["entities"][0]["url"] = url
    assert read(update)[0].mentions_bot is ours


def test_a_bot_without_a_name_is_not_mentioned_by_a_link_to_somebody():
    link = {"type": "text_link", "offset": 0, "length": 1, "url": "tg://user?id=5"}
    assert mentions("a", [link], 5, "") is True
    assert mentions("a", [link], 6, "") is False


@pytest.mark.parametrize(
    "update",
    [
        {}, {"update_id": "5"}, {"update_id": True, "message": {}}, {"update_id": 1, "message": None},
        {"update_id": 1, "message": []}, {"update_id": 1, "message": {"chat": {"id": 1}}},
        {"update_id": 1, "message": {"chat": {"id": float("inf")}, "message_id": 1}},
        {"update_id": 1, "message": {"chat": {"id": 1}, "message_id": 1, "text": "\ud83d"}},
        {"update_id": 1, "message": {"chat": {"id": 1}, "message_id": 1, "text": "a", "entities": 5}},
    ],
)  # fmt: skip
def test_what_is_not_as_documented_is_a_payload_error(update):
    with pytest.raises(PayloadError):
        read(update)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
WORDS = (
    "id", "chat", "from", "message", "message_id", "text", "caption", "entities", "type", "offset", "length", "user",
    "photo", "voice", "file_id", "width", "height", "reply_to_message", "sender_chat", "location", "poll", "contact",
    "new_reaction", "new_chat_member", "old_chat_member", "status", "data", "date", "media_group_id", "title",
)  # fmt: skip
likely = st.recursive(
    scalars | st.sampled_from(["private", "group", "mention", "bot_command", "text_link", "text_mention"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=8),
    max_leaves=25,
)


@given(kind=st.sampled_from(ALLOWED_UPDATES), content=values | likely)
def test_anything_under_a_known_kind_is_a_message_or_a_payload_error(kind, content):
    try:
        messages = read({"update_id": 1, kind: content})
    except PayloadError:
        return
    for message in messages:
        message.to_json()


@given(data=st.data(), name=st.sampled_from(sorted(EXPECTED)), junk=likely)
def test_a_real_update_with_any_part_replaced_is_a_message_or_a_payload_error(data, name, junk):
    update = load(name)
    place = update[data.draw(st.sampled_from([key for key in update if key != "update_id"]))]
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = junk
    try:
        messages = read(update)
    except PayloadError:
        return
    for message in messages:
        message.to_json()


@given(before=st.text(), covered=st.text(), after=st.text())
def test_an_entity_covers_what_its_utf16_units_say(before, covered, after):
    def units(text: str) -> int:
        return len(text.encode("utf-16-le")) // 2

    entity = {"type": "mention", "offset": units(before), "length": units(covered)}
    assert [found for _, found in slices(before + covered + after, [entity])] == [covered]
