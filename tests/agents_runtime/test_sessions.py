"""When a session rolls over, and what goes along."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from pydantic_ai.messages import ModelMessage

from agents_runtime.history import LEFT_OUT, decode, encode, estimate
from agents_runtime.manifest import IdleRollover
from agents_runtime.sessions import BUDGET, CARRIED, Verdict, carry_over, estimated_tokens, next_session
from tests.agents_runtime.test_history import asked, conversations, looked, said

NOW = 1_000_000.0
HOUR = 3600.0


@dataclass(frozen=True)
class Kept:
    """A stored session, as far as the rule looks at it."""

    history: bytes = b""
    last_at: float = NOW


@pytest.mark.parametrize(
    ("rollover", "idle", "verdict"),
    [
        ("3h", 2.9 * HOUR, "keep"),
        ("3h", 3 * HOUR, "idle"),
        ("1d", 23 * HOUR, "keep"),
        ("1d", 24 * HOUR, "idle"),
        ("1w", 6 * 24 * HOUR, "keep"),
        ("1w", 7 * 24 * HOUR, "idle"),
        ("never", 400 * 24 * HOUR, "keep"),
    ],
)
def test_a_pause_rolls_a_session_over(rollover: IdleRollover, idle: float, verdict: Verdict) -> None:
    assert next_session(Kept(last_at=NOW - idle), idle_rollover=rollover, now=NOW) == verdict


def test_the_first_turn_begins_a_session() -> None:
    assert next_session(None, idle_rollover="never", now=NOW) == "idle"
    assert carry_over(b"", "idle") == b""


def test_never_turns_off_the_idle_rule_only() -> None:
    long = encode([asked("x" * (BUDGET * 4 + 100)), said("ok")])

    assert next_session(Kept(long), idle_rollover="never", now=NOW) == "size"
    assert next_session(Kept(long), idle_rollover="3h", now=NOW) == "size"
    assert next_session(Kept(long, NOW - 4 * HOUR), idle_rollover="3h", now=NOW) == "idle"


def test_json_around_many_short_messages_does_not_count() -> None:
    chatter = encode([m for n in range(700) for m in (asked(f"hello {n}"), said("hi"))])

    assert len(chatter) // 4 > BUDGET
    assert next_session(Kept(chatter), idle_rollover="never", now=NOW) == "keep"


def test_after_a_pause_nothing_goes_along() -> None:
    assert carry_over(encode([asked("a"), said("b")]), "idle") == b""


def test_after_a_size_rollover_the_last_exchanges_go_along() -> None:
    history = [m for n in range(60) for m in (asked(f"{n} " + "x" * 800), *looked(n, "y" * 900), said(f"answer {n}"))]
    kept, note = decode(carry_over(encode(history), "size"))

    assert note == ""
    assert kept[0].parts[0].content == LEFT_OUT  # type: ignore[union-attr]
    assert kept[-1].parts[0].content == "answer 59"  # type: ignore[union-attr]
    assert 0 < estimate(kept) <= CARRIED + 20
    assert next_session(Kept(encode(kept)), idle_rollover="never", now=NOW) == "keep"


def test_a_broken_history_does_not_stop_a_rollover() -> None:
    assert carry_over(b"garbage", "size") == b""
    assert next_session(Kept(b"[" * (BUDGET * 5)), idle_rollover="never", now=NOW) == "size"


@given(conversations())
def test_what_is_counted_is_what_was_said(messages: list[ModelMessage]) -> None:
    exact = estimate(messages)

    assert abs(estimated_tokens(encode(messages)) - exact) <= len(messages) * 8 + 1
