"""Who is let in, who is told so, and whom the bot doesn't hear."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.message import Action, InboundMessage
from routes.access import Admission, admit
from routes.connection import Connection
from routes.route import Access, AccessPolicy
from tests.routes.support import KINDS, message, route

SHOP = Connection("shop", "telegram", owners=("boss",))
EDITS = replace(SHOP, settings={"answer_edits": True})
PRESSED = Action("yes", "1")
STRANGER = "stranger"

NOT_ALLOWED = "Sorry, this bot only answers people it knows."
NOT_OWNER = "Sorry, this bot only answers its owner."


def decide(access: Access, given_message: InboundMessage, connection: Connection = SHOP) -> Admission:
    return admit(replace(route("r"), access=access), connection, given_message)


@pytest.mark.parametrize(
    ("policy", "sender", "reason"),
    [
        ("open", STRANGER, ""),
        ("open", "boss", ""),
        ("allowlist", "friend", ""),
        ("allowlist", "boss", ""),
        ("allowlist", STRANGER, "not_allowed"),
        ("owner", "boss", ""),
        ("owner", "friend", "not_owner"),
        ("owner", STRANGER, "not_owner"),
        ("pairing", "friend", ""),
        ("pairing", "boss", ""),
        ("pairing", STRANGER, "pairing_required"),
    ],
)
def test_policies(policy: AccessPolicy, sender: str, reason: str) -> None:
    access = Access(policy, allow=frozenset({"friend"}))
    for scope in KINDS:
        found = decide(access, message(scope, sender=sender, mentions=True))
        assert (found.allowed, found.reason) == (not reason, reason)
        assert bool(found.answer) == bool(reason)
        silent = decide(replace(access, stranger="silent"), message(scope, sender=sender, mentions=True))
        assert (silent.reason, silent.answer) == (reason, "")


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        ("allowlist", NOT_ALLOWED),
        ("owner", NOT_OWNER),
        (
            "pairing",
            "Sorry, this bot doesn't know you yet. Tell its owner this code, within an hour: `{code}`",
        ),
    ],
)
def test_a_stranger_is_told_in_one_sentence(policy: AccessPolicy, answer: str) -> None:
    assert decide(Access(policy), message(sender=STRANGER)).answer == answer


@pytest.mark.parametrize(
    ("given_message", "reason"),
    [
        (message("group"), "mention_required"),
        (message("channel"), "mention_required"),
        (message("dm"), ""),
        (message("group", mentions=True), ""),
        (message("group", kind="command", command="start"), ""),
        (message("group", kind="action", action=PRESSED), ""),
        (message("group", command="start"), ""),
        (message("group", sender="boss"), "mention_required"),
    ],
)
def test_in_a_group_the_bot_answers_when_spoken_to(given_message: InboundMessage, reason: str) -> None:
    assert decide(Access(), given_message) == Admission(not reason, reason)
    assert decide(Access(mention_required=False), given_message).allowed


@pytest.mark.parametrize(
    ("given_message", "connection", "reason"),
    [
        (message(is_self=True, is_bot=True), SHOP, "own_message"),
        (message(is_bot=True), SHOP, "bot_message"),
        (message(kind="edit"), SHOP, "edit"),
        (message(kind="edit"), EDITS, ""),
        (message("group", kind="edit"), EDITS, "mention_required"),
        (replace(message(kind="edit"), data={"deleted": True}), EDITS, "edit"),
        (message(kind="reaction"), EDITS, "kind_reaction"),
        (message(kind="membership"), SHOP, "kind_membership"),
        (message(kind="status"), SHOP, "kind_status"),
        (message("group", kind="edit", is_bot=True), SHOP, "bot_message"),
        (message("group", kind="reaction"), SHOP, "kind_reaction"),
    ],
)
def test_what_is_no_question_is_ignored_for_the_first_reason(
    given_message: InboundMessage, connection: Connection, reason: str
) -> None:
    assert decide(Access(), given_message, connection) == Admission(not reason, reason)
    strict = decide(Access("owner"), given_message, connection)
    assert (strict.reason, strict.answer) == ((reason, "") if reason else ("not_owner", NOT_OWNER))


@given(
    st.sampled_from(["allowlist", "owner", "pairing"]),
    st.booleans(),
    st.sampled_from(["group", "channel"]),
    st.sampled_from(["message", "edit", "reaction", "membership", "status"]),
)
def test_a_stranger_who_is_not_talking_to_the_bot_hears_nothing(
    policy: AccessPolicy, mention_required: bool, scope: str, kind: str
) -> None:
    access = Access(policy, mention_required=mention_required)
    found = decide(access, message(scope, sender=STRANGER, kind=kind), EDITS)
    assert not found.allowed
    assert found.reason
    assert found.answer == ""
