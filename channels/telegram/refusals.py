"""What Telegram's refusals mean, and which of them another form of the same call gets around."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from channels.adapter import Call
from channels.errors import ConversationMoved, SendRefused, SendRetry

GONE = {
    "message to be replied not found": "reply_parameters",
    "replied message not found": "reply_parameters",
    "message thread not found": "message_thread_id",
}
"""What Telegram says of a reference that leads nowhere any more, and the parameter that makes it."""


class NotSent(NetworkError):
    """The request never reached the server."""


@dataclass(frozen=True, slots=True)
class OtherForm:
    """The same thing said in a way that Telegram may take, and what was given up."""

    call: Call
    note: str


def send_error(error: TelegramError) -> SendRetry | SendRefused | ConversationMoved:
    """What a failed call means for a delivery."""
    match error:
        case RetryAfter():
            return SendRetry("Telegram asks to slow down.", after=asked_pause(error), sent=False)
        case ChatMigrated():
            return ConversationMoved("The group became a supergroup.", chat_id=str(error.new_chat_id))
        case _ if is_invalid_token(error):
            return SendRefused(
                "Telegram doesn't know this token.",
                reason="unauthorized",
                fix="Add the connection again with the token that @BotFather shows; check its --base-url too.",
                connection_broken=True,
            )
        case Forbidden() | BadRequest() | InvalidToken():
            return SendRefused(f"Telegram refused: {error.message}", reason=error.message)
        case NetworkError() if "Too Large" in error.message:  # 413
            return SendRefused("The file is larger than Telegram takes.", reason=error.message)
        case NetworkError() if error.message.startswith("Too Many Requests"):  # 429 that names no pause
            return SendRetry("Telegram asks to slow down.", sent=False)
        case NotSent() | Conflict():
            return SendRetry(error.message, sent=False)
        case _:
            return SendRetry(f"Telegram did not answer: {error.message}", sent=None)


def changes_nothing(error: BadRequest) -> bool:
    """Whether an edit was refused because the message is that way already."""
    return "message is not modified" in error.message.lower()


def other_form(call: Call, error: BadRequest) -> OtherForm | None:
    """The call without what was refused: a reference, the markup, the buttons. None where nothing can be left out."""
    text = error.message.lower()
    gone = next((name for phrase, name in GONE.items() if phrase in text and name in call.params), None)
    if gone is not None:
        return OtherForm(_without(call, gone), "What was answered is gone: sent without the reference.")
    if call.plain is not None and "entit" in text:
        return OtherForm(
            replace(call, params=call.plain, plain=None), "Telegram refused the markup: sent as plain text."
        )
    if "button" in text and "reply_markup" in call.params:
        return OtherForm(_without(call, "reply_markup"), f"Sent without buttons: {error.message}.")
    return None


def asked_pause(error: TelegramError) -> float:
    """Seconds that Telegram asks to wait; 0 where it asks for nothing."""
    if not isinstance(error, RetryAfter):
        return 0.0
    after = error.retry_after
    return after.total_seconds() if isinstance(after, timedelta) else float(after)


def is_invalid_token(error: TelegramError) -> bool:
    """Whether the token is not, or no longer, a bot's. The library calls any 404 that: one of a method is not."""
    return isinstance(error, InvalidToken) and "method not found" not in error.message.lower()


def _without(call: Call, name: str) -> Call:
    plain = None if call.plain is None else {key: value for key, value in call.plain.items() if key != name}
    return replace(call, params={key: value for key, value in call.params.items() if key != name}, plain=plain)
