"""A request from Slack over HTTP: its signature, its age, and the three forms its payload comes in."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import parse_qsl

from pydantic import JsonValue

from channels.adapter import HookReply, HookRequest, Verified
from channels.errors import PayloadError, VerificationError
from channels.payload import json_object

MAX_FIELDS = 500

FORM = "application/x-www-form-urlencoded"


def verify(request: HookRequest, signing_secret: str, now: Callable[[], float] = time.time) -> Verified:
    """Prove that Slack sent this within 300 s, and parse it. Raises VerificationError (401) or PayloadError.

    A certificate check comes unsigned: it is answered, and nothing of it is passed on.
    """
    if request.method != "POST":
        raise _refused("Slack sends its requests by POST.")
    is_form = request.header("Content-Type").partition(";")[0].strip().lower() == FORM
    if is_form and _is_ssl_check(request.body):
        return Verified({"type": "ssl_check"})
    if not _signed(request, signing_secret, now):
        raise _refused("The signature does not match, or the request is older than five minutes.")
    payload = _payload(request.body) if is_form else json_object(request.body)
    if payload.get("type") == "url_verification":
        return Verified(payload, _challenge(payload))
    return Verified(payload)


def _is_ssl_check(body: bytes) -> bool:
    try:
        return b"ssl_check=1" in body and _form(body).get("ssl_check") == "1"
    except PayloadError:
        return False


def _signed(request: HookRequest, signing_secret: str, now: Callable[[], float]) -> bool:
    from slack_sdk.signature import Clock, SignatureVerifier

    class Now(Clock):
        def now(self) -> float:
            return now()

    timestamp, signature = request.header("X-Slack-Request-Timestamp"), request.header("X-Slack-Signature")
    try:
        return SignatureVerifier(signing_secret, Now()).is_valid(request.body, timestamp, signature)
    except Exception as error:  # it raises on a timestamp that is no number, a signature that isn't ASCII, bad UTF-8
        raise _refused("The signature could not be checked.") from error


def _payload(body: bytes) -> dict[str, JsonValue]:
    """A form: an interaction has its JSON in one field, a slash command is the form itself."""
    form = _form(body)
    return json_object(form["payload"]) if "payload" in form else dict(form.items())


def _form(body: bytes) -> dict[str, str]:
    try:
        text = body.decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"))
    except ValueError as error:
        raise PayloadError("The body is not a form.") from error


def _challenge(payload: dict[str, JsonValue]) -> HookReply:
    try:
        return HookReply(200, str(payload["challenge"]).encode())
    except (KeyError, UnicodeEncodeError) as error:
        raise PayloadError("A url_verification without a challenge.") from error


def _refused(message: str) -> VerificationError:
    return VerificationError(
        message, status=401, fix="The signing secret must be this app's own, and this machine's clock must be right."
    )
