"""Silence is judged by what arrived."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.silence import DAY, HOUR, MINUTES, judge

NOW = 1_000_000_000.0


def every(gap: float, count: int, quiet: float) -> list[float]:
    return [NOW - quiet - n * gap for n in range(count)]


def test_before_anything_arrived_there_is_no_silence():
    assert judge([], 0, NOW).ok
    waiting = judge([], 2, NOW)
    assert (waiting.ok, "2 wait" in waiting.message, "postroom up" in waiting.fix) == (True, True, True)


def test_a_last_event_is_told_with_its_age():
    finding = judge([NOW - 7300], 0, NOW)
    assert (finding.code, finding.ok) == ("last_event", True)
    assert "2 hours ago" in finding.message


def test_what_waits_at_the_provider_while_nothing_arrives_is_silence():
    assert judge([NOW - MINUTES + 1], 3, NOW).ok, "it may be on its way"
    finding = judge([NOW - MINUTES - 1], 3, NOW)
    assert (finding.code, finding.ok) == ("silence", False)
    assert "3 event(s) wait" in finding.message


def test_a_silence_out_of_rhythm_is_told_in_words():
    week = every(4 * HOUR, 60, 13 * HOUR)
    finding = judge(week, 0, NOW)
    assert (finding.code, finding.ok) == ("silence", False)
    assert "Nothing has arrived for 13 hours" in finding.message
    assert "was 4 hours" in finding.message
    assert judge(every(4 * HOUR, 60, 11 * HOUR), 0, NOW).ok


def test_a_busy_hour_does_not_tell_what_a_night_is_like():
    assert judge(every(10, 300, 12 * HOUR), 0, NOW).ok
    assert not judge(every(10, 300, DAY + 1), 0, NOW).ok


def test_few_events_are_no_rhythm():
    assert judge(every(60, 9, 30 * DAY), 0, NOW).ok


def test_a_clock_that_was_set_back_is_no_silence():
    assert judge([NOW + 60], 0, NOW).ok


@given(st.lists(st.floats(0, 10 * DAY), max_size=40), st.floats(0, 30 * DAY))
def test_a_pause_no_longer_than_one_before_is_never_silence(gaps, quiet):
    at, arrivals = NOW - min(quiet, max(gaps, default=0.0)), []
    for gap in [0.0, *gaps]:
        at -= gap
        arrivals.append(at)
    assert judge(arrivals, 0, NOW).ok
