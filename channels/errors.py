"""The errors Postroom raises on purpose: each has a stable code and says what to do next."""

from __future__ import annotations

from typing import ClassVar


class PostroomError(Exception):
    """Base of every expected error. `code` never changes once released; `fix` is the next step in plain words."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}".strip()


class VerificationError(PostroomError):
    """A webhook request whose secret or signature is wrong. `status` is the HTTP answer the provider expects."""

    code = "verification_failed"

    def __init__(self, message: str, *, fix: str = "", status: int = 401) -> None:
        super().__init__(message, fix=fix)
        self.status = status


class PayloadError(PostroomError):
    """A payload that is not what its provider documents. Answered 400; nothing is stored."""

    code = "payload_invalid"


class SendError(PostroomError):
    """A call that the provider did not carry out. The subclass says whether trying again can help."""

    code = "send_failed"


class SendRetry(SendError):
    """A passing failure. `after` is the wait in seconds the provider asked for, or None to back off.

    `sent` is False where the provider certainly did not act (refused connection, 429, 5xx with an answer that says so)
    and None where it is unknown (the connection broke after the request went out).
    """

    code = "send_retry"

    def __init__(self, message: str, *, after: float | None = None, sent: bool | None = False, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.after = after
        self.sent = sent


class SendRefused(SendError):
    """A permanent refusal: the same call will never succeed. `reason` is the provider's own code or words."""

    code = "send_refused"

    def __init__(self, message: str, *, reason: str = "", fix: str = "", connection_broken: bool = False) -> None:
        super().__init__(message, fix=fix)
        self.reason = reason
        self.connection_broken = connection_broken


class ConversationMoved(SendError):
    """The chat has a new id (a Telegram group became a supergroup): move the conversation, then send again."""

    code = "conversation_moved"

    def __init__(self, message: str, *, chat_id: str) -> None:
        super().__init__(message)
        self.chat_id = chat_id


class ConnectionBroken(PostroomError):
    """Receiving can't go on until a person acts: a revoked token, a second poller, a webhook in the way."""

    code = "connection_broken"
