"""What Twilio checks before it takes a message, and the words it answers itself."""

from __future__ import annotations

import re
from collections.abc import Mapping

BODY_MAX = 1600
MEDIA_MAX = 10

STOP = {"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"}
START = {"START", "UNSTOP", "YES"}
HELP = {"HELP", "INFO"}

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
    if not origin and fields.get("MessagingServiceSid") != service:
        raise Refused(400, 21603, "A 'From' phone number is required.")
    if origin and origin != sender:
        text = (
            "could not find a Channel with the specified From address"
            if whatsapp
            else "is not a valid, message-capable"
        )
        raise Refused(400, 63007 if whatsapp else 21606, f"Twilio {text}: {origin}")
    if to == origin:
        raise Refused(400, 21266, "'To' and 'From' number cannot be the same")
    if fields.get("ContentSid"):
        if fields.get("Body"):
            raise Refused(400, 21620, "Body can not be sent together with ContentSid")
    elif not fields.get("Body", "").strip() and not fields.get("MediaUrl"):
        raise Refused(400, 21602, "Message body is required.")
    if len(fields.get("Body", "")) > BODY_MAX:
        raise Refused(400, 21617, "The concatenated message body exceeds the 1600 character limit")
    if not whatsapp and to in opted_out:
        raise Refused(400, 21610, "Attempt to send to unsubscribed recipient")


def _is_address(address: str, *, whatsapp: bool) -> bool:
    if not whatsapp:
        return _NUMBER.match(address) is not None
    bare = address.removeprefix("whatsapp:")
    return bare != address and (_NUMBER.match(bare) or _USER_ID.match(bare)) is not None
