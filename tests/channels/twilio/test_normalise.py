"""What Twilio posts, as messages."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.errors import PayloadError
from channels.message import InboundMessage
from channels.twilio.normalise import normalise, reply_address
from channels.twilio.numbers import bare, canonical

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def whatsapp(**fields: str) -> InboundMessage:
    base = {
        "MessageSid": "SM1",
        "From": "whatsapp:+14155550100",
        "To": "whatsapp:+14155550199",
        "SmsStatus": "received",
    }
    (message,) = normalise(
        {**base, **fields}, channel="whatsapp", connection_id="line", identity=canonical, received_at=NOW
    )
    return message


def sms(**fields: str) -> InboundMessage:
    base = {"MessageSid": "SM1", "From": "+14155550100", "To": "+14155550199", "SmsStatus": "received"}
    (message,) = normalise({**base, **fields}, channel="sms", connection_id="line", identity=bare, received_at=NOW)
    return message


def test_a_text_is_a_message_in_the_persons_own_conversation():
    message = whatsapp(Body=" when are you open? ", ProfileName="Dana", WaId="14155550100", Unknown="field")
    assert message.text == "when are you open?"
    assert (message.kind, message.scope, message.conversation.key) == ("message", "dm", "line/+14155550100")
    assert (message.sender.id, message.sender.name) == ("+14155550100", "Dana")
    assert message.dedupe_keys == ("message:SM1",)
    assert reply_address(message.message_ref) == "whatsapp:+14155550100"
    assert message.raw["Unknown"] == "field"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("whatsapp:+5511987654321", "whatsapp:+551187654321"),
        ("whatsapp:+5491123456789", "whatsapp:+541123456789"),
        ("whatsapp:+5215512345678", "whatsapp:+525512345678"),
    ],
)
def test_a_person_with_two_numbers_is_one_conversation_and_is_answered_where_they_wrote(one, other):
    first, second = whatsapp(From=one), whatsapp(From=other)
    assert first.conversation == second.conversation
    assert first.sender.id == second.sender.id
    assert (reply_address(first.message_ref), reply_address(second.message_ref)) == (one, other)


def test_a_business_scoped_id_is_a_person_too():
    assert whatsapp(From="whatsapp:US.13491208655302741918").sender.id == "US.13491208655302741918"


def test_media_without_words_is_a_message_with_attachments():
    message = sms(Body="", NumMedia="2", MediaUrl0="https://api.twilio.com/a", MediaContentType0="image/jpeg",
                  MediaUrl1="https://api.twilio.com/b", MediaContentType1="audio/ogg")  # fmt: skip
    assert [(a.kind, a.media_type) for a in message.attachments] == [("image", "image/jpeg"), ("voice", "audio/ogg")]
    assert message.text == ""


def test_buttons_and_lists_are_actions_with_readable_text():
    button = whatsapp(Body="Yes please", ButtonText="Yes please", ButtonPayload="confirm-1")
    assert button.action is not None
    assert (button.kind, button.action.id, button.text) == ("action", "confirm-1", "Yes please")
    chosen = whatsapp(Body="", ListId="size-l", ListTitle="Large")
    assert chosen.action is not None
    assert (chosen.action.id, chosen.text) == ("size-l", "Large")


def test_a_location_is_text_and_data():
    message = whatsapp(Latitude="52.1", Longitude="4.3", Label="Pier", Address="Strand 1")
    assert message.text == "Location: 52.1, 4.3 (Pier, Strand 1)"
    assert message.data["location"] == {"latitude": "52.1", "longitude": "4.3", "address": "Strand 1", "label": "Pier"}


def test_a_referral_is_kept():
    message = whatsapp(Body="hi", ReferralHeadline="Spring", ReferralSourceId="1")
    assert message.data["referral"] == {"ReferralHeadline": "Spring", "ReferralSourceId": "1"}


@pytest.mark.parametrize(
    "word", ["STOP", "stop", " Stop ", "STOPALL", "Unsubscribe", "cancel", "END", "quit", "revoke", "optout"]
)
def test_stop_words_leave_and_are_no_message_for_an_agent(word):
    message = sms(Body=word)
    assert (message.kind, message.data["opt_out"]) == ("membership", "stop")


@pytest.mark.parametrize(
    ("word", "meaning"), [("START", "start"), ("unstop", "start"), ("Yes", "start"), ("help", "help"), ("INFO", "help")]
)
def test_start_and_help_words_are_told_apart(word, meaning):
    assert sms(Body=word).data["opt_out"] == meaning


def test_twilios_own_word_counts_before_ours():
    assert sms(Body="arrêt", OptOutType="STOP").data["opt_out"] == "stop"


@pytest.mark.parametrize("text", ["please stop calling", "yes please", "help me", "stop!"])
def test_a_sentence_with_such_a_word_is_for_the_agent(text):
    assert sms(Body=text).kind == "message"


def test_stop_on_whatsapp_is_an_ordinary_message():
    assert whatsapp(Body="STOP").kind == "message"


@pytest.mark.parametrize(
    ("status", "state"),
    [("queued", "queued"), ("sent", "sent"), ("delivered", "delivered"), ("read", "read"), ("undelivered", "failed")],
)
def test_a_status_callback_is_joined_by_its_sid(status, state):
    message = sms(MessageStatus=status, SmsStatus=status, ErrorCode="30003" if state == "failed" else "")
    assert message.kind == "status"
    assert message.status is not None
    assert (message.status.provider_ref, message.status.state) == ("SM1", state)
    assert message.status.code == ("30003" if state == "failed" else "")
    assert message.dedupe_keys == (f"status:SM1:{status}",)


def test_nul_is_stripped_and_base64_stays_as_it_is():
    assert sms(Body="a\0b").text == "ab"
    assert sms(Body="aGVsbG8=").text == "aGVsbG8="


@pytest.mark.parametrize(
    "fields", [{}, {"MessageSid": "SM1"}, {"MessageSid": "SM1", "From": "whatsapp:"}, {"From": "+1"}]
)
def test_what_is_no_message_is_a_payload_error(fields):
    with pytest.raises(PayloadError):
        normalise(fields, channel="sms", connection_id="line", identity=bare, received_at=NOW)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["MessageSid", "From", "Body", "MessageStatus", "ButtonText", "Latitude", "Longitude", "MediaUrl0"]
)


@given(st.dictionaries(NAMES, JSON))
def test_noise_is_a_message_or_a_payload_error(payload):
    with contextlib.suppress(PayloadError):
        normalise(payload, channel="sms", connection_id="line", identity=bare, received_at=NOW)


@given(st.text(max_size=30))
def test_one_name_for_a_person_is_stable(address):
    assert canonical(canonical(address)) == canonical(address)
