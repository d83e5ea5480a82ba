"""What Twilio checks before it takes a message, and the words it answers itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

BODY_MAX = 1600
MEDIA_MAX = 10
VARIABLES_MAX = 100
VALUE_MAX = 1600
TEMPLATE_MAX = 1024
"""Characters of a filled template on WhatsApp (error 63021)."""

STOP = {"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"}
START = {"START", "UNSTOP", "YES"}
HELP = {"HELP", "INFO"}

_URL = re.compile(r"^https?://[^\s/]+", re.IGNORECASE)
_VARIABLE = re.compile(r"\w{1,16}", re.ASCII)
_PLACEHOLDER = re.compile(r"\{\{(\w{1,16})\}\}", re.ASCII)
_NUMBER = re.compile(r"^\+[1-9]\d{6,14}$")
_USER_ID = re.compile(r"^[A-Z]{2}\.[A-Za-z0-9.]{6,}$")

Fields = Mapping[str, str]


class Refused(Exception):
    """An error answer: HTTP status, Twilio's code and its words."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def check(fields: Fields, *, whatsapp: bool, sender: str, service: str, opted_out: set[str]) -> None:
    """Refuse what Twilio refuses at once. Raises Refused."""
    to, origin = fields.get("To", ""), fields.get("From", "")
    if not to:
        raise Refused(400, 21604, "A 'To' phone number is required.")
    if not _is_address(to, whatsapp=whatsapp):
        raise Refused(400, 21211, f"Invalid 'To' Phone Number: {to}")
    chosen = fields.get("MessagingServiceSid")
    if not origin and not chosen:
        raise Refused(400, 21603, "A 'From' phone number is required.")
    if chosen and chosen != service:
        raise Refused(400, 21701, "The Messaging Service does not exist")
    if origin and origin != sender:
        if whatsapp:
            raise Refused(400, 63007, "Twilio could not find a Channel with the specified From address")
        raise Refused(400, 21606, f"The 'From' phone number {origin} is not a valid message-capable Twilio number")
    if to == origin:
        raise Refused(400, 21266, "'To' and 'From' number cannot be the same")
    if fields.get("ContentSid"):
        if fields.get("Body"):
            raise Refused(400, 20001, "Body can not be sent together with ContentSid")
    elif fields.get("ContentVariables"):
        raise Refused(400, 21654, "ContentSid Required")
    elif not fields.get("Body", "").strip() and not fields.get("MediaUrl"):
        raise Refused(400, 21602, "Message body is required.")
    if len(fields.get("Body", "")) > BODY_MAX:
        raise Refused(400, 21617, "The concatenated message body exceeds the 1600 character limit")
    if not whatsapp and to in opted_out:
        raise Refused(400, 21610, "Attempt to send to unsubscribed recipient")


def check_media(urls: Sequence[str], *, mms: bool) -> None:
    """Refuse what Twilio refuses of MediaUrl before it fetches anything. Raises Refused."""
    if len(urls) > MEDIA_MAX:
        raise Refused(400, 21623, "Number of media files exceeds allowed limit")
    if not all(_URL.match(url) for url in urls):
        raise Refused(400, 21620, "Invalid media URL(s)")
    if urls and not mms:
        raise Refused(400, 21621, "The 'From' number has not been enabled for MMS")


def fill(fields: Fields, templates: Mapping[str, str]) -> str:
    """The words of the template that a message sends, its variables put in. Raises Refused.

    A variable that is not given keeps its sample, shown here as its name.
    """
    template = templates.get(fields["ContentSid"])
    if template is None:
        raise Refused(400, 21655, "The ContentSid is Invalid")
    values = _variables(fields.get("ContentVariables", ""))
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[1]), template)


def _variables(given: str) -> dict[str, str]:
    if not given:
        return {}
    try:
        values = json.loads(given)
    except ValueError:
        values = None
    well = isinstance(values, dict) and all(_is_variable(name, value) for name, value in values.items())
    if not well or len(values) > VARIABLES_MAX:
        raise Refused(400, 21656, "The ContentVariables Parameter is invalid")
    return dict(values)


def _is_variable(name: str, value: object) -> bool:
    return (
        _VARIABLE.fullmatch(name) is not None
        and isinstance(value, str)
        and 0 < len(value.strip()) <= len(value) <= VALUE_MAX
        and re.search(r"[\n\r\t]| {5}", value) is None
    )


def _is_address(address: str, *, whatsapp: bool) -> bool:
    if not whatsapp:
        return _NUMBER.match(address) is not None
    bare = address.removeprefix("whatsapp:")
    return bare != address and (_NUMBER.match(bare) or _USER_ID.match(bare)) is not None
