"""The body of a webhook as JSON: the one place that knows what can be wrong with it."""

from __future__ import annotations

import json

from pydantic import JsonValue

from channels.errors import PayloadError


def json_object(body: bytes | str) -> dict[str, JsonValue]:
    """The object in a body. Raises PayloadError for anything else, nested too deep for one included."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PayloadError("The body is not JSON.") from error
    if not isinstance(value, dict):
        raise PayloadError("The body is not a JSON object.")
    return value
