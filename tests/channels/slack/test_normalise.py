"""Payloads as Slack sends them, one for each situation, and what each becomes."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.errors import PayloadError
from channels.message import Attachment, Command, Conversation, InboundMessage
from channels.slack.account import Account
from channels.slack.normalise import read
from channels.slack.reading import Ignored

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SHOP = Account("T024BE7LD", "U0BOT00001", "B0BOT00001")
FIXTURES = Path(__file__).parent / "fixtures"
DANA, LEE = "U0DANA0001", "U0LEE00001"
GENERAL, DM, PRIVATE, GROUP_DM = "C0GENERAL1", "D0DANA0001", "G0PRIVATE1", "C0MPIM0001"
FIRST = "1767322800.000100"
HOOK = "https://hooks.slack.com/commands/T024BE7LD/397700885554/96rGlfmibIGlgcZRskXaIFfN"


def load(name: str) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text())
    return payload


def reading(payload: dict[str, Any], account: Account = SHOP) -> list[InboundMessage] | Ignored:
    return read(payload, account=account, connection_id="team", received_at=NOW)


def one(payload: dict[str, Any] | str, account: Account = SHOP) -> InboundMessage:
    found = reading(load(payload) if isinstance(payload, str) else payload, account)
    assert isinstance(found, list)
    (message,) = found
    return message


MENU = Attachment("document", "F0FILE0001", "application/pdf", 4711, "menu.pdf")
LEFT = {
    "text": "Shall I?",
    "blocks": [
        {
            "type": "rich_text",
            "block_id": "b1",
            "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "Shall I?"}]}],
        }
    ],
}
"""What is left of a message whose buttons are taken away."""

EXPECTED: dict[str, dict[str, Any]] = {
    "dm_text": {
        "kind": "message", "scope": "dm", "text": "when are you open?", "chat": DM, "thread": None, "reply_to": None,
        "mentions_bot": False, "message_ref": f"{DM}:{FIRST}", "sender": (DANA, "", ""), "bot": False, "self": False,
    },
    "dm_in_thread": {"scope": "dm", "thread": FIRST, "reply_to": f"{DM}:{FIRST}"},
    "dm_thread_root": {"scope": "dm", "thread": None, "reply_to": None},
    "channel_text": {"kind": "message", "scope": "group", "chat": GENERAL, "thread": FIRST, "mentions_bot": False},
    "channel_mention": {
        "kind": "message", "scope": "group", "text": "open today?", "mentions_bot": True,
        "thread": "1767322800.000200", "reply_to": None,
    },
    "channel_mention_twin": {"text": "open today?", "mentions_bot": True, "thread": "1767322800.000200"},
    "dm_mention": {"scope": "dm", "thread": None, "mentions_bot": True, "text": "hi"},
    "thread_reply": {"thread": FIRST, "reply_to": f"{GENERAL}:{FIRST}", "mentions_bot": False},
    "thread_of_the_bot": {"thread": FIRST, "mentions_bot": True},
    "private_channel": {"scope": "group", "chat": PRIVATE},
    "group_dm": {"scope": "group", "chat": GROUP_DM},
    "me_message": {"kind": "message", "text": "waves"},
    "thread_broadcast": {"kind": "message", "text": "for everyone", "thread": FIRST},
    "file_share": {"kind": "message", "text": "the menu", "attachments": (MENU,)},
    "file_kinds": {
        "text": "",
        "attachments": (
            Attachment("image", "F0IMAGE001", "image/png", 9, "a.png"),
            Attachment("voice", "F0VOICE001", "audio/mp4", 7000, "audio_message.m4a"),
            Attachment("video", "F0VIDEO001", "video/mp4", 8000, "clip.mp4"),
            Attachment("document", "F0SHARED01"),
        ),
    },
    "forwarded": {"text": "see below\n\nLee: the oven is <broken>"},
    "attachment_only": {"text": "Build 7 failed", "bot": True, "sender": ("B0CI000001", "ci", "")},
    "markup": {
        "mentions_bot": True,
        "text": (
            "hey ask @U0LEE00001 or @sam in #ops & #C0OTHER001: the site (https://example.com/?a=1&b=2),"
            " https://example.com, a@example.com @here @oncall @S0TEAM001 January 2nd 1 < 2 &lt;"
        ),
    },
    "shared_channel": {"text": "from the other side", "sender": ("U0THEIRS01", "Pat Smith", "pat"), "bot": False},
    "edited": {
        "kind": "edit", "text": "when are you open on sunday?", "mentions_bot": True, "thread": FIRST,
        "message_ref": f"{GENERAL}:{FIRST}", "sender": (DANA, "", ""),
    },
    "edited_in_thread": {"kind": "edit", "text": "sunday", "thread": FIRST},
    "deleted": {"kind": "edit", "text": "", "data.deleted": True, "sender": (DANA, "", ""), "thread": FIRST},
    "deleted_with_replies": {"kind": "edit", "text": "", "data.deleted": True, "sender": (DANA, "", "")},
    "own_post": {"kind": "message", "self": True, "bot": False},
    "own_post_by_response_url": {"self": True, "bot": False},
    "own_edit": {"kind": "edit", "self": True},
    "other_bot": {"self": False, "bot": True, "sender": ("U0CI000001", "ci", "")},
    "slackbot": {"self": False, "bot": True},
    "channel_join": {"kind": "membership", "data.event": "channel_join", "thread": None, "chat": GENERAL},
    "topic_changed": {"kind": "membership", "data.event": "channel_topic", "text": "set the channel topic: bread"},
    "reaction": {
        "kind": "reaction", "text": ":thumbsup:", "reply_to": f"{GENERAL}:1767322800.000900", "scope": "group",
        "data.reaction": "thumbsup", "data.event": "reaction_added",
    },
    "reaction_taken_back": {"kind": "reaction", "text": "", "scope": "dm", "data.event": "reaction_removed"},
    "member_joined": {
        "kind": "membership", "data.event": "member_joined_channel", "data.member": LEE, "data.inviter": DANA,
    },
    "bot_left": {"kind": "membership", "data.event": "member_left_channel", "self": True, "chat": PRIVATE},
    "app_uninstalled": {"kind": "status", "status": ("connection", "needs_attention", "app_uninstalled")},
    "bot_token_revoked": {"kind": "status", "status": ("connection", "needs_attention", "tokens_revoked")},
    "slash_command": {
        "kind": "command", "command": Command("ask", "when  are you <open>, @sam?"), "mentions_bot": True,
        "chat": GENERAL, "thread": None, "scope": "group", "text": "/ask when  are you <open>, @sam?",
        "data.chat_title": "general", "message_ref": HOOK, "sender": (DANA, "", "dana"),
    },
    "slash_command_dm": {"scope": "dm", "command": Command("start"), "text": "/start", "data": {}},
    "button": {
        "kind": "action", "mentions_bot": True, "text": "2026-01-02", "chat": GENERAL, "thread": "1767322800.000200",
        "action": ("slot", "2026-01-02", LEFT, f"{GENERAL}:1767322800.000900"), "sender": (DANA, "", "dana"),
    },
    "button_dm": {
        "scope": "dm", "thread": None, "text": "yes", "action": ("yes", "yes", LEFT, f"{DM}:1767322800.000900"),
    },
    "button_of_nobody": {
        "thread": "1767322800.000900", "action": ("pick", "a", "", f"{GENERAL}:1767322800.000900"),
    },
    "button_ephemeral": {"action": ("slot", "2026-01-02", "", f"{GENERAL}:1767322800.000900")},
}  # fmt: skip

IGNORED = {
    "other_team": "other_team",
    "unfurled": "nothing_edited",
    "message_replied": "event_not_used",
    "reaction_to_others": "reaction_to_others",
    "user_token_revoked": "user_token_revoked",
    "app_home_opened": "event_not_used",
    "rate_limited": "app_rate_limited",
    "url_verification": "url_verification",
    "link_button": "link_button",
    "button_in_modal": "interaction_not_used",
    "shortcut": "interaction_not_used",
    "view_submission": "interaction_not_used",
}


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
        case "status":
            status = message.status
            return status and (status.subject, status.state, status.code)
        case "action":
            action = message.action
            assert action is not None
            return action.id, action.value, json.loads(action.ack_ref or '""'), action.message_ref
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


@pytest.mark.parametrize(("name", "reason"), IGNORED.items(), ids=IGNORED)
def test_what_no_agent_could_use_is_ignored_for_a_reason(name, reason):
    assert reading(load(name)) == Ignored(reason)


def test_every_fixture_is_in_a_table():
    assert {path.stem for path in FIXTURES.glob("*.json")} == {*EXPECTED, *IGNORED}


def test_a_message_carries_its_frame():
    message = one("dm_text")
    assert message.conversation == Conversation("team", DM)
    assert message.channel == "slack"
    assert message.dedupe_keys == (f"event:{load('dm_text')['event_id']}", f"msg:T024BE7LD:{DM}:{FIRST}")
    assert message.sent_at == datetime(2026, 1, 2, 3, 0, 0, 100, tzinfo=UTC)
    assert message.received_at == NOW


def test_a_mention_and_its_twin_share_one_key_and_read_the_same():
    mention, twin = one("channel_mention"), one("channel_mention_twin")
    assert set(mention.dedupe_keys) & set(twin.dedupe_keys) == {f"msg:T024BE7LD:{GENERAL}:1767322800.000200"}
    assert mention.id != twin.id
    for same in ("text", "conversation", "scope", "sender", "mentions_bot", "message_ref"):
        assert getattr(mention, same) == getattr(twin, same)


def test_an_edit_is_not_a_duplicate_of_its_message_nor_of_another_edit_nor_of_the_deletion():
    again = load("edited")
    again["event_id"] = "Ev2"
    again["event"]["message"]["edited"]["ts"] = "1767322999.000000"
    original = one("channel_text")
    assert original.message_ref == one("edited").message_ref
    keys = [key for m in (original, one("edited"), one(again), one("deleted")) for key in m.dedupe_keys]
    assert len(set(keys)) == 8


def test_an_edit_stays_in_the_conversation_of_its_message():
    assert one("edited").conversation == one("channel_text").conversation
    assert one("edited_in_thread").conversation == one("thread_reply").conversation


def test_a_retry_shares_its_key_and_has_the_same_id():
    assert (one("channel_text").id, one("channel_text").dedupe_keys) == (
        one("channel_text").id,
        one("channel_text").dedupe_keys,
    )


def test_a_picture_put_on_a_message_is_an_edit_without_a_change_of_words():
    payload = load("unfurled")
    payload["event"]["message"]["files"] = load("file_share")["event"]["files"]
    assert one(payload).attachments == (MENU,)


def test_two_buttons_at_once_are_two_messages():
    payload = load("button")
    payload["actions"].append({**payload["actions"][0], "action_id": "1:slot", "value": "2026-01-03"})
    found = reading(payload)
    assert isinstance(found, list)
    assert [m.text for m in found] == ["2026-01-02", "2026-01-03"]
    assert not set(found[0].dedupe_keys) & set(found[1].dedupe_keys)


def test_the_same_button_pressed_by_two_people_is_two_presses():
    other = load("button")
    other["user"]["id"] = LEE
    assert not set(one("button").dedupe_keys) & set(one(other).dedupe_keys)


def test_someone_elses_message_keeps_its_buttons():
    payload = load("button")
    payload["message"] |= {"user": "U0CI000001", "bot_id": "B0CI000001"}
    message = one(payload)
    assert message.action is not None
    assert message.action.ack_ref == ""


ORG = Account("E0ORG00001", "U0BOT00001", "B0BOT00001", "E0ORG00001", is_org=True)


@pytest.mark.parametrize(
    ("authorization", "account", "ours"),
    [
        ({"team_id": "T024BE7LD", "enterprise_id": None}, SHOP, True),
        ({"team_id": "T024BE7LD", "enterprise_id": "E0ORG00001"}, SHOP, True),
        ({"team_id": "T0THEIRS01", "enterprise_id": None}, SHOP, False),
        ({"team_id": None, "enterprise_id": "E0ORG00001"}, SHOP, False),
        ({"team_id": None, "enterprise_id": "E0ORG00001"}, ORG, True),
        ({"team_id": "T024BE7LD", "enterprise_id": "E0ORG00001"}, ORG, True),
        ({"team_id": "T0THEIRS01", "enterprise_id": "E0THEIRS01"}, ORG, False),
    ],
)
def test_an_event_belongs_to_the_installation_it_was_sent_to(authorization, account, ours):
    payload = load("channel_text") | {"team_id": "T0SOURCE01", "authorizations": [authorization]}
    assert (reading(payload, account) != Ignored("other_team")) is ours


def test_an_interaction_belongs_to_its_team_or_to_the_team_of_the_user():
    elsewhere = load("button") | {"team": {"id": "T0THEIRS01"}}
    assert isinstance(reading(elsewhere), list), "a guest of a shared channel presses this bot's own button"
    elsewhere["message"] = elsewhere["message"] | {"bot_id": "B0OTHER001"}
    assert reading(elsewhere) == Ignored("other_team")
    assert isinstance(reading(load("button") | {"team": None}), list)
    assert reading(load("slash_command") | {"team_id": "T0THEIRS01"}) == Ignored("other_team")
    org = load("button") | {"team": None, "enterprise": {"id": "E0ORG00001"}, "is_enterprise_install": True}
    assert isinstance(reading(org, ORG), list)


@pytest.mark.parametrize(
    "payload",
    [
        {}, {"type": 5}, {"type": None}, {"type": ["event_callback"]},
        {"type": "event_callback", "team_id": "T024BE7LD"},
        {"type": "event_callback", "team_id": "T024BE7LD", "event": 5},
        {"type": "event_callback", "team_id": "T024BE7LD", "event": {}},
        {"type": "event_callback", "team_id": "T024BE7LD", "event": {"type": "message"}},
        {"type": "event_callback", "team_id": "T024BE7LD", "event": {"type": "message", "channel": "C1", "ts": 5}},
        {"type": "event_callback", "team_id": "T024BE7LD", "event": {"type": "message", "channel": "", "ts": "1.2"}},
        {
            "type": "event_callback", "team_id": "T024BE7LD",
            "event": {"type": "message", "channel": "C1", "ts": "1.2", "text": "\ud83d"},
        },
        {"command": "/ask", "team_id": "T024BE7LD"},
        {"type": "block_actions", "team": {"id": "T024BE7LD"}, "channel": {}},
        {"type": "event_callback", "authorizations": 5}, {"type": "block_actions", "team": "T024BE7LD"},
    ],
)  # fmt: skip
def test_what_is_not_as_documented_is_a_payload_error(payload):
    with pytest.raises(PayloadError):
        reading(payload)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
WORDS = (
    "type", "subtype", "event", "team_id", "team", "id", "authorizations", "enterprise_id", "channel", "user", "ts",
    "thread_ts", "text", "files", "attachments", "mimetype", "message", "previous_message", "edited", "item",
    "item_user", "reaction", "tokens", "bot", "actions", "action_id", "value", "container", "blocks", "command",
    "trigger_id", "bot_id",
)  # fmt: skip
junk = st.recursive(
    scalars | st.sampled_from(["message", "app_mention", "message_changed", "T024BE7LD", "1.2", "D1", "C1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=20,
)


def hold(payload: dict[str, Any]) -> None:
    try:
        found = reading(payload)
    except PayloadError:
        return
    for message in found if isinstance(found, list) else []:
        message.to_json()


@given(payload=st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), junk, max_size=8))
def test_any_object_is_read_or_a_payload_error(payload):
    hold(payload)


@given(data=st.data(), name=st.sampled_from(sorted({*EXPECTED, *IGNORED})), junk=junk)
def test_a_real_payload_with_any_part_replaced_is_read_or_a_payload_error(data, name, junk):
    payload = copy.deepcopy(load(name))
    place: Any = payload
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = junk
    hold(payload)
