"""Moments, as people and programs read them."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(seconds: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC, or None."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def spell(seconds: float) -> str:
    """A stretch of time in words, in its largest unit: `3 hours`, `1 minute`."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"
