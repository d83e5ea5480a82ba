"""Ids in several workspaces: plain at home, marked abroad, and back again when something is sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from channels.slack.account import Account, addressee
from channels.slack.places import abroad, localised, split
from tests.channels.slack.test_normalise import ORG, SHOP, load, one

CAFE = Account("T0CAFE0001", "U0BOT00002", "B0BOT00002")
IDS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=2, max_size=12)


def test_every_id_abroad_is_told_apart_from_the_same_one_at_home():
    for name in ("channel_text", "file_share", "button", "reaction"):
        home = one(name)
        away = abroad(home, "T2")
        assert away.conversation.chat_id == f"T2:{home.conversation.chat_id}"
        assert away.conversation.thread_id == home.conversation.thread_id
        assert away.sender.id == f"T2:{home.sender.id}"
        assert away.id != home.id
        assert not set(away.dedupe_keys) & set(home.dedupe_keys)
        assert [a.provider_ref for a in away.attachments] == [f"T2:{a.provider_ref}" for a in home.attachments]
        assert (away.text, away.kind, away.raw, away.sent_at) == (home.text, home.kind, home.raw, home.sent_at)


def test_an_address_to_answer_at_is_no_id():
    command = one("slash_command")
    assert abroad(command, "T2").message_ref == command.message_ref
    assert command.message_ref.startswith("https://")


@given(IDS, IDS)
def test_a_mark_comes_off_as_it_went_on(team_id, chat_id):
    assert split(f"{team_id}:{chat_id}") == (team_id, chat_id)
    assert split(chat_id) == ("", chat_id)
    for name in ("channel", "channel_id"):
        params = {name: f"{team_id}:{chat_id}", "text": "a:b"}
        assert localised(params) == (team_id, {name: chat_id, "text": "a:b"})
    assert localised({"channel": chat_id}) == ("", {"channel": chat_id})


def test_the_authorization_picks_the_installation_wherever_it_happened():
    event = load("channel_text") | {"team_id": CAFE.team_id}
    event["authorizations"] = [{"team_id": SHOP.team_id, "enterprise_id": None}]
    assert addressee(event, (CAFE, SHOP)) == SHOP
    assert addressee(event, (CAFE,)) is None


def test_a_workspace_of_its_own_goes_before_the_organisation_around_it():
    event = load("channel_text")
    event["authorizations"] = [{"team_id": SHOP.team_id, "enterprise_id": ORG.enterprise_id}]
    assert addressee(event, (ORG, SHOP)) == SHOP
    assert addressee(event, (ORG, CAFE)) == ORG


def test_a_button_belongs_to_the_bot_that_posted_it():
    pressed = load("button") | {"team": {"id": CAFE.team_id}}
    assert addressee(pressed, (CAFE, SHOP)) == SHOP
    pressed["message"] = pressed["message"] | {"bot_id": CAFE.bot_id}
    assert addressee(pressed, (SHOP, CAFE)) == CAFE
