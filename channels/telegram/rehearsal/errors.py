"""How the Bot API says no."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """An answer with `ok: false`. `parameters` carries retry_after or migrate_to_chat_id."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad_request(text: str, **parameters: Any) -> ApiError:
    """A 400 in Telegram's words."""
    return ApiError(400, f"Bad Request: {text}", **parameters)
