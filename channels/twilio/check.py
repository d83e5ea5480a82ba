"""Whether a Twilio line works: the account, where Twilio delivers what comes in, and WhatsApp's template."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urldefrag

from channels.adapter import ConnectionReport, Finding
from channels.errors import SendError, SendRefused
from channels.twilio.client import NOT_FOUND, Inbound, TwilioClient
from channels.twilio.numbers import PREFIX, bare

PASTE = "Give it the hook URL of `postroom connection show`, by POST."


@dataclass(frozen=True, slots=True)
class Line:
    """What of a line's settings a check looks at. `template` is None on SMS, which has none."""

    sender: str
    service: str
    hook_url: str
    template: str | None = None

    @property
    def is_whatsapp(self) -> bool:
        """Whether it is a WhatsApp sender."""
        return self.template is not None


async def check(client: TwilioClient, line: Line) -> ConnectionReport:
    """The report. What Twilio doesn't let us ask is told as a note, not as a failure."""
    try:
        account, status = await client.fetch_account()
    except SendError as error:
        refused = isinstance(error, SendRefused)
        fix = "Check the account SID and the auth token." if refused else "Try again in a moment."
        failed = Finding("token" if refused else "unreachable", False, error.message, fix)
        return ConnectionReport(False, findings=(failed, *_address(line)))
    active = status == "active"
    fix = "" if active else "Look at the account in Twilio's console."
    findings = [Finding("token", active, f"The account '{account}' is {status}.", fix), *_address(line)]
    if line.hook_url:
        findings += await _inbound(client, line)
    if line.is_whatsapp:
        findings.append(await _template(client, line.template or ""))
    return ConnectionReport(all(f.ok for f in findings), account, tuple(findings))


def _address(line: Line) -> list[Finding]:
    if line.hook_url:
        return []
    return [Finding("webhook", False, "Twilio has no address to deliver to.", "Set POSTROOM_PUBLIC_URL.")]


async def _inbound(client: TwilioClient, line: Line) -> list[Finding]:
    """Twilio delivers where the Messaging Service says; without one, where the number or the WhatsApp sender says."""
    try:
        if line.service:
            service = await client.service(line.service)
            if not service.deferred:
                return [_delivers("The Messaging Service", service, line)]
            if not line.sender:
                text = "The Messaging Service leaves what comes in to the webhook of each of its numbers."
                return [Finding("webhook", True, text, PASTE)]
        return await (_whatsapp if line.is_whatsapp else _number)(client, line)
    except SendRefused as error:
        if error.reason == NOT_FOUND and line.service:
            text = f"The account has no Messaging Service {line.service}, or lacks what it points to."
            return [Finding("webhook", False, text, "Check --messaging-service.")]
        return [Finding("webhook", True, f"Twilio doesn't tell where it delivers: {error.message}", PASTE)]
    except SendError as error:
        return [Finding("unreachable", False, error.message, "Try again in a moment.")]


async def _number(client: TwilioClient, line: Line) -> list[Finding]:
    number = bare(line.sender)
    if not number.startswith("+"):
        return [Finding("webhook", True, f"Twilio tells no webhook of a sender such as '{number}'.", PASTE)]
    found = await client.number(number)
    if found is None:
        return [Finding("sender", False, f"The account has no number {number}.", "Check --from and the account SID.")]
    if found.application:
        return [_delivers("The number's application", await client.application(found.application), line)]
    return [_delivers("The number", found, line)]


async def _whatsapp(client: TwilioClient, line: Line) -> list[Finding]:
    address = PREFIX + bare(line.sender)
    found = await client.whatsapp_sender(address)
    if found is None:
        text = f"Twilio doesn't list {address} as a sender of the account; the sandbox's number is never listed."
        return [Finding("webhook", True, text, f"For the sandbox: {PASTE[0].lower()}{PASTE[1:]} Else check --from.")]
    online = found.state.startswith("ONLINE")
    fix = "" if online else "Look at the sender in Twilio's console."
    state = Finding("sender", online, f"The sender is {found.state.lower().replace('_', ' ')}.", fix)
    return [state, _delivers("The sender", found, line)]


def _delivers(what: str, found: Inbound, line: Line) -> Finding:
    url = urldefrag(found.url).url
    if not url:
        return Finding("webhook", False, f"{what} has no webhook: nothing comes in.", PASTE)
    if url != line.hook_url:
        return Finding("webhook", False, f"{what} delivers elsewhere, to {_place(url)}.", PASTE)
    if found.method.upper() != "POST":
        return Finding("webhook", False, f"{what} delivers here by {found.method}, and only POST is taken.", PASTE)
    return Finding("webhook", True, f"{what} delivers to this connection's address.")


def _place(url: str) -> str:
    """An address without what may be secret in it: the path of a gateway's hook is."""
    return "/".join(url.split("/")[:3]) + "/…"


async def _template(client: TwilioClient, sid: str) -> Finding:
    if not sid:
        text = "There is no template: a day after a person's last message nothing can be sent to them."
        return Finding("template", True, text, "Add the connection again with --template and an approved ContentSid.")
    try:
        status, why = await client.approval(sid)
    except SendRefused as error:
        if error.reason == NOT_FOUND:
            return Finding("template", False, f"The account has no template {sid}.", "Check --template.")
        return Finding("template", True, f"Twilio doesn't tell how the template stands: {error.message}")
    except SendError as error:
        return Finding("unreachable", False, error.message, "Try again in a moment.")
    if status == "approved":
        return Finding("template", True, "WhatsApp has approved the template for after the 24-hour window.")
    because = f" ({why})" if why else ""
    return Finding(
        "template",
        False,
        f"WhatsApp has not approved the template: it is {status}{because}.",
        "Submit it in Twilio's Content Template Builder, or give --template another ContentSid.",
    )
