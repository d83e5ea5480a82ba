"""Every payload that bolt's own tests use, and what becomes of it; the files are read where they are, if they are."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from channels.message import InboundMessage
from channels.slack.account import Account
from channels.slack.normalise import read
from channels.slack.reading import Ignored
from tests.support.payloads import payload_files

BOLT = Account("T111", "W23456789", "BZYBOTHED")
"""The account that bolt's mock of auth.test tells."""

MENTIONED = Account("T111", "W111")
ORG = Account("T111", "W222", enterprise_id="E111", is_org=True)
ORG_MENTIONED = Account("T111", "W111", enterprise_id="E111", is_org=True)
INSTALLED = Account("T_INSTALLED", "W111", enterprise_id="E_INSTALLED")
AUTHORISED = Account("T-auth", "U-auth", enterprise_id="E-auth")

MENTION = "message of W222 in C111/1595926230.009600, mentioned: Hi there!"
PRESS = "action of W99999 in C111/111.222, mentioned: click_me_123"
BARE_PRESS = "action of W111 in C111, mentioned: click_me_123"
REACTION = "reaction of W111 (self) in C111: :heart_eyes:"
NOT_USED, OTHER_TEAM = "ignored: interaction_not_used", "ignored: other_team"
STEPS = {"edit_payload": NOT_USED, "save_payload": NOT_USED, "execute_payload": "ignored: event_not_used"}
GONE = {
    "app_uninstalled_body": "status: app_uninstalled, needs_attention",
    "tokens_revoked_body": "status: tokens_revoked, needs_attention",
}
MEMBERS = {
    "join_event_body": "membership of W23456789 (self) in C111:",
    "left_event_body": "membership of W23456789 (self) in C111:",
    "join_event_body_2": "membership of U999 in C111:",
    "left_event_body_2": "membership of U999 in C111:",
}
MEMBERS_ELSEWHERE = {name: told.replace(" (self)", "") for name, told in MEMBERS.items()}

EXPECTED: dict[str, tuple[Account, dict[str, str]]] = {
    "app": (MENTIONED, {"app_mention_event_body": MENTION}),
    "app_bot_only": (MENTIONED, {"app_mention_request_body": MENTION}),
    "app_custom_authorize": (MENTIONED, {"app_mention_request_body": MENTION}),
    "app_using_methods_in_class": (BOLT, {"payload": NOT_USED}),
    "attachment_actions": (BOLT, {"body": NOT_USED}),
    "authorize": (BOLT, {"block_actions_body": PRESS}),
    "block_actions": (BOLT, {"body": "action of W111 in C111/111.222, mentioned: click_me_123"}),
    "block_suggestion": (BOLT, {"body": NOT_USED}),
    "dialogs": (BOLT, {"suggestion_body": NOT_USED, "submission_body": NOT_USED, "cancellation_body": NOT_USED}),
    "error_handler": (BOLT, {"body": BARE_PRESS}),
    "events": (
        BOLT,
        {
            "valid_event_body": "message of W222 in C111/1595926230.009600, mentioned: @W111 Hi there!",
            "valid_reaction_added_body": "ignored: reaction_to_others",
            "message_file_share_body": (
                "message of U111 in G111/1610493715.001000: Here is your file! [image F111 image/png 42706 test.png]"
            ),
            **MEMBERS,
            **GONE,
            "body": OTHER_TEAM,
        },
    ),
    "events_ignore_self": (
        BOLT,
        {
            "event_body": "ignored: reaction_to_others",
            "response_url_message_event": (
                "message of BZYBOTHED (self) in C111/1658282075.825129: Hi there! This is a reply using response_url."
            ),
            "different_app_response_url_message_event": (
                "message of B_DIFFERENT_ONE (bot) in C111/1658282075.825129:"
                " Hi there! This is a reply using response_url."
            ),
        },
    ),
    "events_org_apps": (
        ORG,
        {
            "event_payload": "ignored: event_not_used",
            "event_payload_2": "ignored: event_not_used",
            "event_payload_3": "ignored: event_not_used",
            "event_payload_4": "message of W111 in C111/1606810819.000800, mentioned:",
        },
    ),
    "events_request_verification": (MENTIONED, {"event_body": REACTION}),
    "events_say_stream": (ORG_MENTIONED, {"org_app_mention_event_body": MENTION}),
    "events_shared_channels": (
        INSTALLED,
        {
            "valid_event_body": MENTION,
            "valid_reaction_added_body": REACTION,
            "event_body": "reaction of W23456789 in C111: :heart_eyes:",
            **MEMBERS_ELSEWHERE,
            **GONE,
        },
    ),
    "events_socket_mode": (
        MENTIONED,
        {
            "valid_event_body": MENTION,
            "valid_reaction_added_body": REACTION,
            "event_body": "reaction of W23456789 in C111: :heart_eyes:",
            **MEMBERS_ELSEWHERE,
            **GONE,
        },
    ),
    "events_token_revocations": (
        ORG,
        {"event_payload": GONE["tokens_revoked_body"], "event_payload_2": GONE["app_uninstalled_body"]},
    ),
    "events_url_verification": (BOLT, {"event_body": "ignored: url_verification"}),
    "function": (
        BOLT,
        {"function_body": "ignored: event_not_used", "wrong_id_function_body": "ignored: event_not_used"},
    ),
    "installation_store_authorize": (BOLT, {"body": PRESS}),
    "lazy": (BOLT, {"body": BARE_PRESS}),
    "listener_middleware": (BOLT, {"body": NOT_USED}),
    "message": (
        BOLT,
        {
            "message_body": "message of W111 in C111/1596183880.004200: Hello World!",
            "message_body2": "message of W111 in C111/1596183880.004200: We've received 103 messages from you!",
            "message_body3": (
                "message of W111 in C111/1596183880.004200:"
                " Please fix JIRA-1234, SCM-567 and BUG-169 as soon as you can!"
            ),
        },
    ),
    "message_bot": (
        BOLT,
        {
            "user_message_event_payload": (
                "message of W111 in C111/1610261659.001400: Hi there! Thanks for sharing the info!"
            ),
            "bot_message_event_payload": (
                "message of UB111 (bot) in C111/1610261539.000900: Hi there! Thanks for sharing the info!"
            ),
            "classic_bot_message_event_payload": (
                "message of B888 (bot) in C111/1610262363.001600: Hi there! Thanks for sharing the info!"
            ),
        },
    ),
    "message_changed": (AUTHORISED, {"event_payload": "edit of U111 in C111/1665102338.901939: updated message"}),
    "message_deleted": (AUTHORISED, {"event_payload": "edit of U111 in C111/1665368619.804829:"}),
    "message_file_share": (
        BOLT,
        {
            "event_payload": (
                "message of U111 in C111/1652227646.593159: Hi there! [image F111 image/png 92582 file.png]"
            )
        },
    ),
    "message_thread_broadcast": (BOLT, {"event_payload": "message of U111 in C111/1633663824.000500: Hi there!"}),
    "middleware": (BOLT, {"body": NOT_USED}),
    "shortcut": (BOLT, {"global_shortcut_body": NOT_USED, "message_shortcut_body": NOT_USED}),
    "view_closed": (BOLT, {"body": NOT_USED}),
    "view_submission": (
        BOLT,
        {"body": NOT_USED, "response_url_payload_body": NOT_USED, "connect_channel_payload": OTHER_TEAM},
    ),
    "web_client_customization": (BOLT, {"block_actions_body": PRESS}),
    "workflow_steps": (BOLT, STEPS),
    "workflow_steps_decorator_simple": (BOLT, STEPS),
    "workflow_steps_decorator_with_args": (BOLT, STEPS),
}
"""File → the account its payloads were sent to, and each payload → what it says."""


def told(payload: dict[str, Any], account: Account) -> str:
    found = read(payload, account=account, connection_id="team", received_at=datetime(2026, 1, 2, tzinfo=UTC))
    if isinstance(found, Ignored):
        return f"ignored: {found.reason}"
    (message,) = found
    assert InboundMessage.from_json(message.to_json()) == message
    return words(message)


def words(message: InboundMessage) -> str:
    if message.status is not None:
        return f"status: {message.status.code}, {message.status.state}"
    sender = message.sender
    who = f"{sender.id}{' (bot)' if sender.is_bot else ''}{' (self)' if sender.is_self else ''}"
    where = message.conversation.key.removeprefix("team/")
    files = [f" [{a.kind} {a.provider_ref} {a.media_type} {a.size} {a.name}]" for a in message.attachments]
    mentioned = ", mentioned" if message.mentions_bot else ""
    return f"{message.kind} of {who} in {where}{mentioned}: {message.text}{''.join(files)}".rstrip()


@pytest.mark.parametrize("name", EXPECTED)
def test_each_recorded_payload_becomes_what_is_written_here(name):
    account, expected = EXPECTED[name]
    for path in payload_files("slack", f"bolt-test_{name}.json"):
        payloads = json.loads(path.read_text())
        assert {key: told(payload, account) for key, payload in payloads.items()} == expected


def test_every_recorded_file_is_in_the_table():
    recorded = {path.stem.removeprefix("bolt-test_") for path in payload_files("slack", "bolt-test_*.json")}
    assert recorded in (set(), set(EXPECTED))
