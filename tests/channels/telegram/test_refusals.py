"""What a refusal means, and what can be left out of a call."""

from __future__ import annotations

import pytest
from telegram.error import BadRequest, NetworkError, TimedOut

from channels.adapter import Call
from channels.telegram.refusals import asked_pause, other_form

WORDS = {"text": "<b>a</b>", "parse_mode": "HTML"}
EXTRAS = {"message_thread_id": 7, "reply_parameters": {"message_id": 9}, "reply_markup": {"inline_keyboard": []}}
CALL = Call("sendMessage", {**WORDS, **EXTRAS}, plain={"text": "a", **EXTRAS})


@pytest.mark.parametrize(
    ("refusal", "gone"),
    [
        ("Message thread not found", "message_thread_id"), ("Message to be replied not found", "reply_parameters"),
        ("Replied message not found", "reply_parameters"), ("Button_url_invalid", "reply_markup"),
        ("Inline keyboard button url 'x' is invalid: wrong http url", "reply_markup"),
    ],
)  # fmt: skip
def test_what_is_refused_goes_from_the_plain_form_too(refusal, gone):
    other = other_form(CALL, BadRequest(refusal))
    assert other is not None
    for params, before in ((other.call.params, CALL.params), (other.call.plain, CALL.plain)):
        assert params == {name: value for name, value in (before or {}).items() if name != gone}


def test_markup_is_given_up_once():
    other = other_form(CALL, BadRequest("Can't parse entities: unclosed start tag"))
    assert other is not None
    assert (other.call.params, other.call.plain) == (CALL.plain, None)
    assert other_form(other.call, BadRequest("Can't parse entities: unclosed start tag")) is None


@pytest.mark.parametrize("refusal", ["Chat not found", "Message thread not found", "BUTTON_URL_INVALID"])
def test_a_call_with_nothing_to_leave_out_has_no_other_form(refusal):
    assert other_form(Call("sendMessage", {"text": "a"}), BadRequest(refusal)) is None


def test_only_telegram_asks_for_a_pause():
    assert [asked_pause(error) for error in (TimedOut(), NetworkError("Bad Gateway"))] == [0.0, 0.0]
