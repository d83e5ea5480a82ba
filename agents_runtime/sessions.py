"""When a session rolls over, and what the next one carries along. Pure; costs microseconds for a session kept."""

from __future__ import annotations

from typing import Literal, Protocol

from pydantic_core import from_json

from agents_runtime.manifest import IdleRollover

Verdict = Literal["keep", "idle", "size"]

BUDGET = 24_000
"""Tokens of history, estimated at four characters each, after which a session rolls over."""

CARRIED = 4_000
"""Tokens of the last exchanges that the next session begins with, where the size was the reason."""

IDLE_SECONDS: dict[IdleRollover, float] = {
    "3h": 3 * 3600.0,
    "1d": 24 * 3600.0,
    "1w": 7 * 24 * 3600.0,
    "never": float("inf"),
}


class Past(Protocol):
    """What is stored of a session: the runner's own history, and when it was last used, in seconds since the epoch."""

    @property
    def history(self) -> bytes:
        """What the last run returned."""
        ...

    @property
    def last_at(self) -> float:
        """When the last run ended."""
        ...


def next_session(session: Past | None, *, idle_rollover: IdleRollover, now: float, budget: int = BUDGET) -> Verdict:
    """Whether a turn goes on in its session, or why a fresh one begins. `never` turns off the idle rule only."""
    if session is None or now - session.last_at >= IDLE_SECONDS[idle_rollover]:
        return "idle"
    return "size" if estimated_tokens(session.history, budget) > budget else "keep"


def carry_over(history: bytes, verdict: Verdict) -> bytes:
    """The history a fresh session begins with: the last exchanges after a rollover for size, nothing after a pause."""
    if verdict == "keep":
        return history
    if verdict == "idle" or not history:
        return b""
    # Imported here: most turns need no trimming, and the import is heavy.
    from agents_runtime.history import decode, encode, trim

    messages, _note = decode(history)
    return encode(trim(messages, CARRIED))


def estimated_tokens(history: bytes, enough: int = 0) -> int:
    """About how many tokens a stored history costs. JSON that is surely under `enough` tokens is not read."""
    if len(history) // 4 <= enough:
        return len(history) // 4
    try:
        return _characters(from_json(history)) // 4
    except ValueError:
        return len(history) // 4


_SAID = frozenset({"content", "args"})


def _characters(node: object, counts: bool = False) -> int:
    """Characters of what was said or passed to a tool, without the JSON around it."""
    if isinstance(node, str):
        return len(node) if counts else 0
    if isinstance(node, dict):
        return sum(_characters(value, counts or key in _SAID) for key, value in node.items())
    if isinstance(node, list):
        return sum(_characters(value, counts) for value in node)
    return 0
