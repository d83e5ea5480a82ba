"""Refusals in Slack's words."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """A call answered `{"ok": false, "error": code}`, with whatever more Slack says about it."""

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.code = code
        self.more = more

    @property
    def answer(self) -> dict[str, Any]:
        """The body."""
        return {"ok": False, "error": self.code, **self.more}


def missing(*fields: str) -> ApiError:
    """Arguments that have to be there are not."""
    messages = [f"[ERROR] missing required field: {field}" for field in fields]
    return ApiError("invalid_arguments", response_metadata={"messages": messages})


def required(params: dict[str, Any], *fields: str) -> tuple[str, ...]:
    """Arguments that have to be there, as text. Raises ApiError."""
    absent = [field for field in fields if params.get(field) in (None, "")]
    if absent:
        raise missing(*absent)
    return tuple(str(params[field]) for field in fields)
