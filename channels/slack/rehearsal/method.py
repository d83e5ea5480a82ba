"""What the server knows of each Web API method."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from channels.slack.rehearsal.errors import ApiError

Json = dict[str, Any]

PAGE, PAGE_MAX = 100, 1000


@dataclass(frozen=True, slots=True)
class Method:
    """`act` answers; `scope` is needed for it; `form`: a JSON body is not read; `app`: it takes the app-level token."""

    act: Callable[[Json], Awaitable[Json]]
    scope: str = ""
    form: bool = False
    app: bool = False


def unpacked(value: Any) -> Any:
    """A parameter that may have come as JSON in a form. Raises ApiError."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            raise ApiError("invalid_json") from None
    return value


def flag(value: Any) -> bool:
    """A boolean parameter, as JSON or as text."""
    return value in (True, 1, "true", "True", "1")


def page(params: Json, items: list[Any]) -> tuple[list[Any], Json]:
    """The part that `cursor` and `limit` ask for, and where the next one starts. Raises ApiError."""
    try:
        limit = min(int(params.get("limit") or PAGE), PAGE_MAX)
        start = int(base64.b64decode(str(params.get("cursor") or "MA=="), validate=True))
    except (binascii.Error, ValueError):
        raise ApiError("invalid_cursor") from None
    if limit < 1:
        raise ApiError("invalid_limit")
    end = start + limit
    following = base64.b64encode(str(end).encode()).decode() if end < len(items) else ""
    return items[start:end], {"response_metadata": {"next_cursor": following}}
