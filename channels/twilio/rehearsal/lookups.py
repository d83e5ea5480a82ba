"""What the account is set to, as Twilio tells who asks: its number, service, WhatsApp sender and templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from channels.twilio.rehearsal.rules import Refused

Json = dict[str, Any]

CHANNELS = {"whatsapp", "rcs"}

_TEMPLATE = re.compile(r"^HX[0-9a-fA-F]{32}$")


@dataclass(slots=True)
class Desk:
    """What a person has set in Twilio's console, besides the address that messages go to.

    `by` is the method of the number's webhook, `application` what takes its place, with `application_url`.
    `deferred`: the service leaves what comes in to its numbers. `templates`: ContentSid → (status, reason).
    """

    account: str
    number: str
    service: str
    hook_url: Callable[[], str]
    by: str = "POST"
    application: str = ""
    application_url: str = ""
    deferred: bool = False
    sender_state: str = "ONLINE"
    sandbox: bool = False
    templates: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def numbers(self, query: Mapping[str, str]) -> Json:
        """IncomingPhoneNumbers; `PhoneNumber` may be a part of a number, with * for any digit."""
        wanted = re.escape(query.get("PhoneNumber", "")).replace(r"\*", r"\d")
        found = [self._number()] if re.search(wanted, self.number) else []
        path = f"/2010-04-01/Accounts/{self.account}/IncomingPhoneNumbers.json"
        uris: Json = {"uri": path, "first_page_uri": path, "next_page_uri": None, "previous_page_uri": None}
        return {"incoming_phone_numbers": found, "page": 0, "page_size": 50, "start": 0, "end": len(found), **uris}

    def applications(self, sid: str) -> Json:
        """One application. Raises Refused."""
        if sid != self.application:
            raise _missing(f"Applications/{sid}.json")
        return {
            "sid": sid,
            "account_sid": self.account,
            "friendly_name": "Rehearsal",
            "sms_url": self.application_url,
            "sms_method": "POST",
        }

    def services(self, sid: str) -> Json:
        """One Messaging Service. Raises Refused."""
        if sid != self.service:
            raise _missing(f"Services/{sid}")
        return {
            "sid": sid,
            "account_sid": self.account,
            "friendly_name": "Rehearsal",
            "inbound_request_url": self.hook_url() or None,
            "inbound_method": "POST",
            "use_inbound_webhook_on_number": self.deferred,
        }

    def senders(self, query: Mapping[str, str]) -> Json:
        """The senders of one channel, which must be named; the sandbox is none. Raises Refused."""
        if query.get("Channel") not in CHANNELS:
            raise Refused(400, 20001, "Channel is required and must be one of: whatsapp, rcs")
        listed = query["Channel"] == "whatsapp" and not self.sandbox
        sender = {
            "sid": "XE" + "0" * 31 + "1",
            "status": self.sender_state,
            "sender_id": f"whatsapp:{self.number}",
            "webhook": {"callback_url": self.hook_url() or None, "callback_method": self.by},
        }
        url = "https://messaging.twilio.com/v2/Channels/Senders?PageSize=50&Page=0"
        return {
            "meta": {
                "key": "senders",
                "page": 0,
                "page_size": 50,
                "url": url,
                "first_page_url": url,
                "next_page_url": None,
                "previous_page_url": None,
            },
            "senders": [sender] if listed else [],
        }

    def approvals(self, sid: str) -> Json:
        """How a template stands at WhatsApp. Raises Refused."""
        if not _TEMPLATE.match(sid) or sid not in self.templates:
            raise _missing(f"Content/{sid}/ApprovalRequests")
        status, reason = self.templates[sid]
        return {
            "sid": sid,
            "account_sid": self.account,
            "whatsapp": {
                "type": "whatsapp",
                "name": "rehearsal",
                "category": "UTILITY",
                "content_type": "twilio/text",
                "status": status,
                "rejection_reason": reason,
            },
            "url": f"https://content.twilio.com/v1/Content/{sid}/ApprovalRequests",
        }

    def _number(self) -> Json:
        return {
            "sid": "PN" + "0" * 31 + "1",
            "account_sid": self.account,
            "phone_number": self.number,
            "friendly_name": self.number,
            "sms_url": self.hook_url(),
            "sms_method": self.by,
            "sms_application_sid": self.application,
            "capabilities": {"voice": True, "sms": True, "mms": True, "fax": False},
        }


def _missing(what: str) -> Refused:
    return Refused(404, 20404, f"The requested resource {what} was not found")
