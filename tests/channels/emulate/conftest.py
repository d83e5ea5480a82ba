"""Emulators of Slack and Twilio that others wrote, one process for a session."""

from __future__ import annotations

import pytest

from tests.support import emulate

collect_ignore_glob = [] if emulate.is_there() else ["test_*.py"]

BOT, PERSON = "xoxb-emulated-bot", "xoxp-emulated-person"
SCOPES = ["chat:write", "channels:history", "groups:history", "im:history", "im:write", "files:read", "files:write"]
ACCOUNT, AUTH_TOKEN = f"AC{'e' * 32}", "emulated-auth-token"
SERVICE = f"MG{'e' * 32}"
NUMBER, WHATSAPP = "+15550100200", "whatsapp:+15550100201"

SEED = {
    "slack": {
        "team": {"name": "Bakery", "domain": "bakery"},
        "users": [{"name": "dana"}],
        "channels": [{"name": "orders"}, {"name": "closed"}, {"name": "backroom", "is_private": True}],
        "oauth_apps": [
            {
                "client_id": "1.2", "client_secret": "x", "app_id": "A1", "name": "Shop", "redirect_uris": [],
                "bot_id": "B0SHOP", "bot_user_id": "U0SHOP", "bot_name": "shop", "scopes": SCOPES,
            }
        ],
        "tokens": [
            {"token": BOT, "user_id": "U0SHOP", "bot_id": "B0SHOP", "app_id": "A1", "type": "bot", "scopes": SCOPES},
            {"token": PERSON, "user": "dana"},
        ],
        "strict_scopes": True,
    },
    "twilio": {
        "account": {"sid": ACCOUNT, "auth_token": AUTH_TOKEN, "friendly_name": "Bakery"},
        "phone_numbers": [{"phone_number": NUMBER}, {"phone_number": WHATSAPP}],
        "messaging_services": [{"sid": SERVICE, "friendly_name": "Shop", "phone_numbers": [NUMBER]}],
    },
}  # fmt: skip


@pytest.fixture(scope="session")
def emulators():
    with emulate.running(SEED) as running:
        yield running
