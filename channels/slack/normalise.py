"""A Slack payload as messages. Pure, straight from the JSON that comes over HTTP or in an envelope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue
from pydantic_core import to_json

from channels.errors import PayloadError
from channels.slack.account import Account, addressee
from channels.slack.events import read_event
from channels.slack.interactions import read_actions, read_command
from channels.slack.reading import Context, Ignored, Reading

HANDSHAKES = ("url_verification", "ssl_check")
"""What Slack asks of an address rather than of an app; they name no workspace."""

MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError)
"""What reading a payload raises that is not as Slack documents it."""


def is_handshake(payload: Mapping[str, JsonValue]) -> bool:
    """Whether a payload is about the address it came to."""
    return payload.get("type") in HANDSHAKES


def sent_to(payload: Mapping[str, JsonValue], accounts: Sequence[Account]) -> Account | None:
    """Which of these a payload was sent to. Raises PayloadError on one that is not as documented."""
    try:
        return addressee(payload, accounts)
    except MALFORMED as error:
        raise PayloadError(f"A payload that names no workspace as documented ({type(error).__name__}).") from error


def read(payload: Mapping[str, JsonValue], *, account: Account, connection_id: str, received_at: datetime) -> Reading:
    """The messages in a payload, or why there are none. Raises PayloadError on one that is not as documented."""
    context = Context(account, connection_id, received_at, dict(payload))
    try:
        to_json(payload)  # half a surrogate pair could never be stored
        return _read(context)
    except MALFORMED as error:
        kind = payload.get("type")
        raise PayloadError(f"A {kind} that is not as documented ({type(error).__name__}: {error}).") from error


def _read(context: Context) -> Reading:
    payload: Mapping[str, JsonValue] = context.raw
    kind = payload.get("type")
    if not isinstance(kind, str) and not (kind is None and "command" in payload):
        raise ValueError("neither an event nor an interaction")
    if is_handshake(payload):
        return Ignored(str(kind))
    if addressee(payload, (context.account,)) is None:
        return Ignored("other_team")
    match kind:
        case "event_callback":
            return read_event(_object(payload["event"]), context)
        case "block_actions":
            return read_actions(payload, context)
        case None:
            return read_command(payload, context)
        case "app_rate_limited":
            return Ignored("app_rate_limited")
        case _:
            return Ignored("interaction_not_used")


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    if not isinstance(value, dict):
        raise TypeError("event is not an object")
    return value
