"""Whether a route lets a message in, and what to tell someone whom it doesn't. Costs no model call."""

from __future__ import annotations

from dataclasses import dataclass

from channels.message import InboundMessage
from routes.connection import Connection
from routes.route import Route

POLITE = {
    "not_allowed": "Sorry, this bot only answers people it knows.",
    "not_owner": "Sorry, this bot only answers its owner.",
    "pairing_required": "Sorry, I don't know you yet. Ask the owner to add your id: {sender}",
}


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision. `reason` is a stable code when not allowed; `answer` is the sentence a stranger is due, if any."""

    allowed: bool
    reason: str = ""
    answer: str = ""


ADMITTED = Admission(True)


def admit(route: Route, connection: Connection, message: InboundMessage) -> Admission:
    """Decide in this order: bots, kind, mention, policy. Whoever isn't talking to the bot in a group gets silence."""
    reason = _not_for_us(connection, message)
    if not reason and route.access.mention_required and not _addressed(message):
        reason = "mention_required"
    if reason:
        return Admission(False, reason)
    reason = _stranger(route, connection, message.sender.id)
    if not reason:
        return ADMITTED
    polite = route.access.stranger == "polite"
    return Admission(False, reason, POLITE[reason].format(sender=message.sender.id) if polite else "")


def _not_for_us(connection: Connection, message: InboundMessage) -> str:
    if message.sender.is_self:
        return "own_message"
    if message.sender.is_bot:
        return "bot_message"
    match message.kind:
        case "message" | "command" | "action":
            return ""
        case "edit":
            return "" if connection.settings.get("answer_edits") is True else "edit"
        case kind:
            return f"kind_{kind}"


def _addressed(message: InboundMessage) -> bool:
    return message.scope == "dm" or message.mentions_bot or message.kind in {"command", "action"}


def _stranger(route: Route, connection: Connection, sender_id: str) -> str:
    if route.access.policy == "open" or sender_id in connection.owners:
        return ""
    match route.access.policy:
        case "owner":
            return "not_owner"
        case "pairing":
            return "" if sender_id in route.access.allow else "pairing_required"
        case _:
            return "" if sender_id in route.access.allow else "not_allowed"
