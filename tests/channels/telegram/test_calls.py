"""What is said, as Bot API calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.adapter import Call
from channels.message import Action, Attachment, Button, Conversation, OutboundMessage
from channels.telegram.calls import CALLBACK_BYTES, CAPTION_LIMIT, render
from channels.telegram.normalise import Account, normalise
from tests.channels.telegram.test_normalise import NOW

GROUP = Conversation("line", "-1002147483649")
DM = Conversation("line", "7000000001")
LONG = "\n\n".join(f"Paragraph {n}. " + "word " * 150 for n in range(12))


def say(text: str = "", conversation: Conversation = DM, **more: Any) -> list[Call]:
    return render(OutboundMessage(conversation, text, **more))


def test_a_text_is_one_html_message_with_its_plain_form_beside_it():
    (call,) = say("**Open** at 8 & closed at 6")
    assert (call.method, call.chat_id, call.is_group) == ("sendMessage", "7000000001", False)
    shared = {"chat_id": 7000000001, "link_preview_options": {"is_disabled": True}}
    assert call.params == {**shared, "text": "<b>Open</b> at 8 &amp; closed at 6", "parse_mode": "HTML"}
    assert call.plain == {**shared, "text": "Open at 8 & closed at 6"}
    assert Call.from_json(call.to_json()) == call


def test_nothing_to_see_is_nothing_to_send():
    assert say("") == []
    assert say(" \n ") == []


def test_a_long_text_is_pieces_with_the_reply_on_the_first_and_the_buttons_on_the_last():
    button = Button("yes", "Yes")
    calls = say(LONG, GROUP, scope="group", reply_to="-1002147483649:40", buttons=(button,))
    assert len(calls) > 2
    assert all(call.is_group and call.params["chat_id"] == -1002147483649 for call in calls)
    for params in (calls[0].params, calls[0].plain or {}):
        assert params["reply_parameters"] == {"message_id": 40, "allow_sending_without_reply": True}
    for params in (calls[-1].params, calls[-1].plain or {}):
        assert params["reply_markup"] == {"inline_keyboard": [[{"text": "Yes", "callback_data": "yes"}]]}
    assert not any("reply_parameters" in call.params for call in calls[1:])
    assert not any("reply_markup" in call.params for call in calls[:-1])


@pytest.mark.parametrize(("scope", "replies"), [("dm", False), ("channel", False), ("group", True)])
def test_only_in_a_group_does_it_matter_what_is_answered(scope, replies):
    (call,) = say("yes", GROUP, scope=scope, reply_to="-1002147483649:40")
    assert ("reply_parameters" in call.params) is replies
    assert call.is_group is (scope != "dm")


def test_a_topic_is_sent_to_by_its_id_and_typed_in_too():
    topic = Conversation("line", "-1002147483649", "12")
    (call,) = say("yes", topic, scope="group")
    assert call.params["message_thread_id"] == 12
    (typing,) = say(conversation=topic, purpose="typing", scope="group")
    assert (typing.method, typing.params) == (
        "sendChatAction",
        {"chat_id": -1002147483649, "message_thread_id": 12, "action": "typing"},
    )


def test_a_press_is_acknowledged_and_its_buttons_go():
    action = Action("yes", "yes", ack_ref="438", message_ref="-1002147483649:50")
    answer, edit = say(conversation=GROUP, purpose="ack", action=action)
    assert (answer.method, answer.params) == ("answerCallbackQuery", {"callback_query_id": "438"})
    assert edit.method == "editMessageReplyMarkup"
    assert edit.params == {"chat_id": -1002147483649, "message_id": 50}


def test_a_press_without_a_message_is_only_acknowledged():
    calls = say(conversation=GROUP, purpose="ack", action=Action("yes", "yes", ack_ref="438"))
    assert [call.method for call in calls] == ["answerCallbackQuery"]
    assert say(conversation=GROUP, purpose="ack") == []


@pytest.mark.parametrize(
    ("kind", "method", "field"),
    [
        ("image", "sendPhoto", "photo"), ("audio", "sendAudio", "audio"), ("voice", "sendVoice", "voice"),
        ("video", "sendVideo", "video"), ("animation", "sendAnimation", "animation"),
        ("document", "sendDocument", "document"), ("other", "sendDocument", "document"),
    ],
)  # fmt: skip
def test_a_file_goes_before_the_text_by_the_method_of_its_kind(kind, method, field):
    file, text = say(LONG[:2000], attachments=(Attachment(kind, path="/files/a"), Attachment(kind)))
    assert (file.method, file.params) == (method, {"chat_id": 7000000001, field: {"path": "/files/a"}})
    assert file.plain is None
    assert text.method == "sendMessage"


MENU = Attachment("document", path="/files/a", name="menu.pdf")


def test_a_text_that_fits_is_the_caption_of_the_last_file():
    picture, menu = say("**the menu**", attachments=(Attachment("image", path="/files/p"), MENU))
    shared = {"chat_id": 7000000001, "document": {"path": "/files/a", "name": "menu.pdf"}}
    assert "caption" not in picture.params
    assert (menu.method, menu.params) == (
        "sendDocument",
        {**shared, "caption": "<b>the menu</b>", "parse_mode": "HTML"},
    )
    assert menu.plain == {**shared, "caption": "the menu"}


def test_a_caption_takes_1024_characters_and_a_longer_text_is_a_message():
    (fits,) = say("a" * CAPTION_LIMIT, attachments=(MENU,))
    assert fits.params["caption"] == "a" * CAPTION_LIMIT
    file, text = say("a" * (CAPTION_LIMIT + 1), attachments=(MENU,))
    assert "caption" not in file.params
    assert text.params["text"] == "a" * (CAPTION_LIMIT + 1)


def test_with_files_too_the_first_call_replies_and_the_last_has_the_buttons():
    more = {"scope": "group", "reply_to": "-1002147483649:40", "buttons": (Button("yes", "Yes"),)}
    for text, count in (("", 2), ("caption", 2), (LONG, 4)):
        calls = say(text, GROUP, attachments=(MENU, MENU), **more)
        assert len(calls) >= count
        assert ["reply_parameters" in call.params for call in calls] == [True] + [False] * (len(calls) - 1)
        assert ["reply_markup" in call.params for call in calls] == [False] * (len(calls) - 1) + [True]


def test_a_picture_too_large_for_a_photo_is_a_document():
    photo, document = say(attachments=tuple(Attachment("image", path="/p", size=s) for s in (10_000_000, 10_000_001)))
    assert (photo.method, document.method) == ("sendPhoto", "sendDocument")
    assert document.params["document"] == {"path": "/p"}


def test_a_button_with_an_address_opens_it():
    (call,) = say("see", buttons=(Button("site", "Site", url="https://example.org"),))
    markup: Any = call.params["reply_markup"]
    assert markup == {"inline_keyboard": [[{"text": "Site", "url": "https://example.org"}]]}


def pressed(data: str) -> Action:
    query = {"id": "1", "from": {"id": 1, "first_name": "D"}, "chat_instance": "1", "data": data}
    update: dict[str, Any] = {"update_id": 1, "callback_query": query}
    (message,) = normalise(update, account=Account(2, "shop_bot"), connection_id="line", received_at=NOW)
    assert message.action is not None
    return message.action


@given(id=st.text(min_size=1), value=st.text())
@example(id="🏟" * 40, value="")
@example(id="slot", value="é" * 31)
def test_callback_data_fits_whatever_the_id_and_the_value(id, value):
    (call,) = say("choose", buttons=(Button(id, "Yes", value),))
    markup: Any = call.params["reply_markup"]
    data = markup["inline_keyboard"][0][0]["callback_data"]
    assert 1 <= len(data.encode()) <= CALLBACK_BYTES


IDS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=7)


@given(id=IDS, value=st.text(max_size=8))
def test_a_button_comes_back_as_it_was_made(id, value):
    (call,) = say("choose", buttons=(Button(id, "Yes", value),))
    markup: Any = call.params["reply_markup"]
    action = pressed(markup["inline_keyboard"][0][0]["callback_data"])
    assert (action.id, action.value) == (id, value or id)
