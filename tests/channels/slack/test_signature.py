"""Slack's signature, its five minutes, and the three forms a payload comes in."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.adapter import HookReply, HookRequest, Verified
from channels.errors import PayloadError, VerificationError
from channels.slack.signature import FORM, verify
from tests.support.payloads import payload_files

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
NOW = 1531420618
HOOK = "https://example.org/hooks/team/secret"


def signature(body: bytes, timestamp: str = str(NOW), secret: str = SECRET) -> str:
    return "v0=" + hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()


def request(
    body: bytes,
    *,
    timestamp: str | None = str(NOW),
    signed: str | None = None,
    kind: str = "application/json",
    method: str = "POST",
    **more: str,
) -> HookRequest:
    signed = signature(body, timestamp or "") if signed is None else signed
    headers = {"x-slack-SIGNATURE": signed, "Content-Type": kind, **more}
    if timestamp is not None:
        headers["X-Slack-Request-Timestamp"] = timestamp
    return HookRequest(method, HOOK, headers, {}, body)


def check(asked: HookRequest, now: float = NOW, secret: str = SECRET) -> Verified:
    return verify(asked, secret, lambda: now)


def refused(asked: HookRequest, now: float = NOW) -> VerificationError:
    with pytest.raises(VerificationError) as error:
        check(asked, now)
    assert error.value.status == 401
    assert error.value.fix
    return error.value


def test_the_vector_of_slack_sdk():
    for path in payload_files("slack", "slack-sdk-signature-vector.json"):
        vector = json.loads(path.read_text())
        asked = request(vector["body"].encode(), timestamp=vector["timestamp"], signed=vector["signature"], kind=FORM)
        verified = check(asked, float(vector["timestamp"]), vector["signing_secret"])
        assert verified.payload["command"] == "/webhook-collect"
        assert verified.payload["text"] == "", "an empty field is a field"


def test_an_event_is_json_answered_with_nothing():
    body = '{"type": "event_callback", "ä": "🏟"}'.encode()
    assert check(request(body, kind="application/json; charset=utf-8")) == Verified(json.loads(body), HookReply())


def test_a_retry_is_taken_as_the_first_was():
    asked = request(b"{}", **{"X-Slack-Retry-Num": "2", "X-Slack-Retry-Reason": "http_timeout"})
    assert check(asked) == Verified({}, HookReply())


def test_a_challenge_is_answered_with_itself():
    verified = check(request(b'{"type": "url_verification", "challenge": "3eZbrw1a"}'))
    assert verified.reply == HookReply(200, b"3eZbrw1a", "text/plain")


def test_an_interaction_is_json_in_a_form_and_a_command_is_the_form():
    pressed = urlencode({"payload": json.dumps({"type": "block_actions"})}).encode()
    assert check(request(pressed, kind=FORM)).payload == {"type": "block_actions"}
    command = urlencode({"command": "/ask", "text": "a & b", "enterprise_id": ""}).encode()
    assert check(request(command, kind=FORM)).payload == {"command": "/ask", "text": "a & b", "enterprise_id": ""}


def test_a_certificate_check_is_answered_unsigned_and_nothing_of_it_is_kept():
    body = urlencode({"ssl_check": "1", "token": "x", "command": "/ask"}).encode()
    assert check(request(body, kind=FORM, signed="")) == Verified({"type": "ssl_check"})
    refused(request(b"ssl_check=10&command=/ask", kind=FORM, signed=""))
    refused(request(b"ssl_check=1&a=\xff", kind=FORM, signed=""))
    refused(request(b"ssl_check=1", signed=""))


@pytest.mark.parametrize(("age", "taken"), [(0, True), (300, True), (301, False), (-300, True), (-301, False)])
def test_a_request_is_good_for_five_minutes(age, taken):
    asked = request(b"{}")
    if taken:
        assert check(asked, NOW + age).payload == {}
    else:
        refused(asked, NOW + age)


@pytest.mark.parametrize(
    "asked",
    [
        request(b"{}", signed="v0=00"),
        request(b"{}", signed=""),
        request(b"{}", signed=signature(b"{}", secret="another")),
        request(b"{}", signed=signature(b"{}").removeprefix("v0=")),
        request(b"{} ", signed=signature(b"{}")),
        request(b"{}", timestamp=None),
        request(b"{}", method="GET"),
        # what the library's verifier raises on
        request(b"{}", timestamp="yesterday"),
        request(b"{}", timestamp=""),
        request(b"{}", timestamp="9" * 5000),
        request(b"{}", timestamp="9" * 400),
        request(b"{}", timestamp=f"{NOW}\udcff", signed="v0=00"),
        request(b"{}", signed="v0=ünïcode"),
        request(b"{}", signed="v0=\udcff"),
        request(b"\xff\xfe"),
    ],
)
def test_what_is_not_proven_is_refused(asked):
    refused(asked)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "application/json"), (b"{", "application/json"), (b"[1]", "application/json"),
        (b"null", "application/json"), (b"[" * 100_000, "application/json"), (b'{"a": ' + b"9" * 5000, "text/plain"),
        (b"payload={", FORM), (b"payload=[1]", FORM), (b"a=%ff", FORM), (b"&".join([b"a=1"] * 501), FORM),
        (b'{"type": "url_verification"}', "application/json"),
        (b'{"type": "url_verification", "challenge": "\\ud83d"}', "application/json"),
    ],
)  # fmt: skip
def test_a_signed_body_that_is_no_payload_is_a_payload_error(body, kind):
    with pytest.raises(PayloadError):
        check(request(body, kind=kind))


@given(body=st.binary(max_size=200), kind=st.sampled_from(["application/json", FORM, ""]))
def test_any_signed_bytes_are_read_or_an_expected_error(body, kind):
    with contextlib.suppress(PayloadError, VerificationError):
        assert isinstance(check(request(body, kind=kind)).payload, dict)


anything = st.text(st.characters(), max_size=30)


@given(body=st.binary(max_size=50), timestamp=anything | st.just(str(NOW)), signed=anything, kind=anything)
def test_anything_unsigned_is_refused(body, timestamp, signed, kind):
    refused(request(body, timestamp=timestamp, signed=signed, kind=kind))
