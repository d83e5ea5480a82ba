"""Whether a route lets a message in, and what to tell someone whom it doesn't. Costs no model call.

How often one stranger is told is the caller's to decide: the answer is the same each time.
"""

from __future__ import annotations

from dataclasses import dataclass

from channels.message import InboundMessage
from routes.connection import Connection
from routes.route import Route

REFUSALS = {"allowlist": "not_allowed", "owner": "not_owner", "pairing": "pairing_required"}
"""Policy → the reason a stranger is refused for."""

POLITE = {
    "not_allowed": "Sorry, this bot only answers people it knows.",
    "not_owner": "Sorry, this bot only answers its owner.",
    "pairing_required": "Sorry, this bot doesn't know you yet. Tell its owner this code, within an hour: `{code}`",
}
CODE = "{code}"
"""Where a pairing's code goes in the answer to a stranger: codes are made by whoever keeps them."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision. `reason` is a stable code when not allowed; `answer` is the sentence a stranger is due, if any.

    Reasons: own_message, bot_message, edit, kind_reaction, kind_membership, kind_status, mention_required, and from the
    policies not_allowed, not_owner, pairing_required.
    """

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
    polite = route.access.stranger == "polite" and _addressed(message)
    return Admission(False, reason, POLITE[reason] if polite else "")


def _not_for_us(connection: Connection, message: InboundMessage) -> str:
    if message.sender.is_self:
        return "own_message"
    if message.sender.is_bot:
        return "bot_message"
    match message.kind:
        case "message" | "command" | "action":
            return ""
        case "edit":
            answered = connection.settings.get("answer_edits") is True and not message.data.get("deleted")
            return "" if answered else "edit"
        case kind:
            return f"kind_{kind}"


def _addressed(message: InboundMessage) -> bool:
    spoken_to = message.mentions_bot or message.command is not None or message.action is not None
    return message.scope == "dm" or spoken_to


def _stranger(route: Route, connection: Connection, sender_id: str) -> str:
    access = route.access
    known = sender_id in connection.owners or (access.policy != "owner" and sender_id in access.allow)
    return "" if access.policy == "open" or known else REFUSALS[access.policy]
