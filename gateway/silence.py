"""Whether a connection has fallen silent: judged by what arrived and by what the provider holds, never by a socket."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from channels.adapter import Finding
from gateway.times import iso, spell

SAMPLE = 300
"""Arrivals that make up a connection's rhythm."""

ENOUGH = 10
"""Fewer arrivals than this are no rhythm."""

PATIENCE = 3.0
"""A silence this many times as long as the longest pause before is out of rhythm."""

MINUTES, HOUR, DAY = 300.0, 3600.0, 86_400.0


def judge(arrivals: Sequence[float], waiting: int, now: float) -> Finding:
    """What the last arrivals (seconds since the epoch, newest first) and the provider's queue tell. Pure."""
    if not arrivals:
        return _nothing_yet(waiting)
    quiet = max(0.0, now - arrivals[0])
    if waiting and quiet > MINUTES:
        return Finding(
            "silence",
            False,
            f"Nothing has arrived for {spell(quiet)}, while {waiting} event(s) wait at the provider.",
            "Make sure that `postroom up` is running, and look at its log.",
        )
    longest = max((earlier - later for earlier, later in pairwise(arrivals)), default=0.0)
    if len(arrivals) >= ENOUGH and quiet > max(PATIENCE * longest, _least(arrivals)):
        return Finding(
            "silence",
            False,
            f"Nothing has arrived for {spell(quiet)}; the longest pause among the {len(arrivals)} events before it was"
            f" {spell(longest)}.",
            "Send the bot a message: if it doesn't come in, the provider delivers elsewhere or not at all.",
        )
    return Finding("last_event", True, f"The last event arrived at {iso(arrivals[0])}, {spell(quiet)} ago.")


def _nothing_yet(waiting: int) -> Finding:
    if waiting:
        text = f"No event has arrived yet, and {waiting} wait(s) at the provider."
        return Finding("last_event", True, text, "Start `postroom up`, which takes them in.")
    return Finding("last_event", True, "No event has arrived yet.", "Send the bot a message to see one.")


def _least(arrivals: Sequence[float]) -> float:
    """A silence shorter than this is none. Events of less than two days don't tell what a night is like."""
    return HOUR if arrivals[0] - arrivals[-1] >= 2 * DAY else DAY
