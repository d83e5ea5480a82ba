"""Noise at the webhooks of every channel, rightly signed: a message, or one of the two refusals there are."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.adapter import Adapter, HookRequest, OpenConnection
from channels.errors import PayloadError, VerificationError
from channels.registry import load
from channels.slack.account import Account as SlackAccount
from channels.telegram.normalise import Account as TelegramAccount

URL = "https://bots.example.com/hooks/line/x"
SECRETS = {
    "telegram": {"bot_token": "123456789:" + "A" * 35},
    "slack": {"bot_token": "xoxb-1", "signing_secret": "s" * 32},
    "whatsapp": {"account_sid": "AC" + "0" * 32, "auth_token": "t" * 32},
    "sms": {"account_sid": "AC" + "0" * 32, "auth_token": "t" * 32},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "telegram": {"mode": "webhook"},
    "slack": {},
    "whatsapp": {"from": "+14155550199"},
    "sms": {"from": "+14155550199"},
}
KNOWN: dict[str, list[Any]] = {
    "telegram": [
        {
            "update_id": 1,
            "message": {
                "message_id": 1,
                "date": 1,
                "chat": {"id": 7, "type": "private"},
                "from": {"id": 7, "is_bot": False, "first_name": "Dana"},
                "text": "hello",
            },
        }
    ],
    "slack": [
        {"type": "url_verification", "challenge": "x"},
        {
            "type": "event_callback",
            "team_id": "T1",
            "api_app_id": "A1",
            "event_id": "Ev1",
            "event": {
                "type": "message",
                "channel": "D1",
                "channel_type": "im",
                "user": "U1",
                "text": "hi",
                "ts": "1.1",
            },
        },
    ],
    "whatsapp": [{"MessageSid": "SM1", "From": "whatsapp:+14155550100", "To": "whatsapp:+14155550199", "Body": "hi"}],
    "sms": [{"MessageSid": "SM1", "From": "+14155550100", "To": "+14155550199", "Body": "hi"}],
}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
DEEP = b'{"a":' * 100_000


def sign_slack(request: dict[str, Any]) -> None:
    at = str(int(time.time()))
    said = b"v0:" + at.encode() + b":" + request["body"]
    digest = hmac.new(SECRETS["slack"]["signing_secret"].encode(), said, hashlib.sha256).hexdigest()
    request["headers"] |= {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={digest}"}


def sign_twilio(request: dict[str, Any]) -> None:
    """As for JSON: the address with the body's digest; a form is signed by its fields, where it is one."""
    from twilio.request_validator import RequestValidator

    from channels.twilio.signature import _form

    form: Any = {}
    if request["headers"]["Content-Type"] == "application/json":
        digest = hashlib.sha256(request["body"]).hexdigest()
        request["url"] += f"?bodySHA256={digest}"
        request["query"] = {"bodySHA256": digest}
    else:
        try:
            form = _form(request["body"])
        except PayloadError:
            form = {}
    token = SECRETS["sms"]["auth_token"]
    request["headers"]["X-Twilio-Signature"] = RequestValidator(token).compute_signature(request["url"], form)


SIGN: dict[str, Callable[[dict[str, Any]], None]] = {
    "telegram": lambda _request: None,
    "slack": sign_slack,
    "whatsapp": sign_twilio,
    "sms": sign_twilio,
}


@pytest.fixture
async def adapters():
    async with AsyncExitStack() as stack:
        opened: dict[str, Adapter] = {}
        for name, secrets in SECRETS.items():
            channel = load(name)
            settings = channel.settings.model_validate(SETTINGS[name])
            opened[name] = await stack.enter_async_context(channel.open(OpenConnection("line", settings, secrets, URL)))
        # what the providers would have told of the bots
        opened["telegram"]._account = TelegramAccount(1, "shop_bot")  # type: ignore[attr-defined]
        opened["slack"]._installations.first.account = SlackAccount("T1", "U0")  # type: ignore[attr-defined]
        yield opened


@st.composite
def bodies(draw: st.DrawFn, channel: str) -> tuple[bytes, str]:
    """A body and its content type: bytes, JSON, a form, or a real payload with something else in one place."""
    kind = draw(st.sampled_from(["known", "bytes", "json", "form"]))
    is_json = draw(st.booleans())
    if kind == "bytes":
        return draw(st.binary(max_size=60)), "application/json" if is_json else "application/x-www-form-urlencoded"
    if kind == "form":
        fields = draw(st.dictionaries(st.text(max_size=10), st.text(max_size=20), max_size=4))
        return urlencode(fields, errors="replace").encode(), "application/x-www-form-urlencoded"
    payload: Any = draw(junk)
    if kind == "known":
        payload = json.loads(json.dumps(draw(st.sampled_from(KNOWN[channel]))))
        place = payload
        while True:
            key = draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or not place[key] or draw(st.booleans()):
                break
            place = place[key]
        place[key] = draw(junk)
    if is_json or not isinstance(payload, dict):
        return json.dumps(payload).encode(), "application/json"
    return as_form(channel, payload)


def as_form(channel: str, payload: dict[str, Any]) -> tuple[bytes, str]:
    """A payload as the channel's form has it."""
    form = {str(k): v if isinstance(v, str) else json.dumps(v) for k, v in payload.items()}
    if channel == "slack":
        form = {"payload": json.dumps(payload)}
    return urlencode(form, errors="replace").encode(), "application/x-www-form-urlencoded"


@pytest.mark.parametrize("channel", list(SECRETS))
def test_a_rightly_signed_body_is_taken_or_refused(channel: str, adapters: dict[str, Adapter]):
    adapter = adapters[channel]
    taken = 0

    def hear(body: bytes, content_type: str) -> None:
        nonlocal taken
        request: dict[str, Any] = {
            "method": "POST",
            "url": URL,
            "headers": {"Content-Type": content_type, "X-Telegram-Bot-Api-Secret-Token": hook_token(adapter)},
            "query": {},
            "body": body,
        }
        SIGN[channel](request)
        try:
            verified = adapter.verify(HookRequest(**request))
            messages = adapter.normalise(verified.payload, datetime.now(UTC))
        except (PayloadError, VerificationError):
            return
        for message in messages:
            message.to_json()
        taken += 1

    @given(bodies(channel))
    @example((DEEP, "application/json"))
    @example((b"payload=" + DEEP, "application/x-www-form-urlencoded"))
    @example((b'{"update_id": 1' + b"0" * 5000 + b"}", "application/json"))
    @example((b"\xff\xfe", "application/x-www-form-urlencoded"))
    def hear_noise(given_body: tuple[bytes, str]) -> None:
        hear(*given_body)

    for payload in KNOWN[channel]:
        hear(
            *(
                (json.dumps(payload).encode(), "application/json")
                if channel == "telegram"
                else as_form(channel, payload)
            )
        )
    assert taken == len(KNOWN[channel]), "nothing came as far as a message"
    hear_noise()


def hook_token(adapter: Adapter) -> str:
    return getattr(adapter, "_hook_token", "")
