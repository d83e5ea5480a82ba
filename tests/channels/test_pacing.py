"""The rates of a channel hold, whatever comes in whatever order."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels import pacing
from channels.adapter import Call, Limits, Rate
from channels.pacing import Pacer

RATES = (Rate("chat", 5, 5.0), Rate("group", 7, 20.0), Rate("connection", 9, 1.0), Rate("method", 2, 3.0))


def call(chat: str = "1", method: str = "send", *, group: bool = False) -> Call:
    return Call(method, {}, chat_id=chat, is_group=group)


def go(pacer: Pacer, what: Call, now: float) -> float:
    """When it goes, as the gateway does it: the wait is asked for, and the place taken at once."""
    at = now + pacer.delay(what, now)
    pacer.sent(what, at)
    return at


def test_without_rates_nothing_waits():
    pacer = Pacer(Limits(4096))
    assert [go(pacer, call(), 1.0) for _ in range(100)] == [1.0] * 100


def test_a_burst_goes_at_once_and_the_next_waits_for_its_place():
    pacer = Pacer(Limits(4096, (Rate("chat", 2, 10.0),)))
    assert [go(pacer, call(), now) for now in (100.0, 103.0, 104.0, 104.0, 125.0)] == [100, 103, 110, 113, 125]


def test_several_that_ask_at_the_same_moment_take_places_one_after_another():
    pacer = Pacer(Limits(4096, (Rate("connection", 1, 1.0),)))
    assert [go(pacer, call(str(n)), 5.0) for n in range(4)] == [5.0, 6.0, 7.0, 8.0]


def test_chats_and_methods_do_not_hold_each_other_up():
    pacer = Pacer(Limits(4096, (Rate("method", 1, 10.0),)))
    assert go(pacer, call("1"), 0.0) == 0.0
    assert go(pacer, call("2"), 0.0) == 0.0
    assert go(pacer, call("1", "edit"), 0.0) == 0.0
    assert go(pacer, call("1"), 0.0) == 10.0


def test_only_groups_have_the_rate_of_groups():
    pacer = Pacer(Limits(4096, (Rate("group", 1, 60.0),)))
    assert [go(pacer, call("1"), 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert [go(pacer, call("-1", group=True), 0.0) for _ in range(3)] == [0.0, 60.0, 120.0]


def test_two_rates_of_a_kind_both_hold():
    pacer = Pacer(Limits(4096, (Rate("chat", 1, 1.0), Rate("chat", 2, 10.0))))
    assert [go(pacer, call(), 0.0) for _ in range(3)] == [0.0, 1.0, 10.0]


def test_a_pause_that_was_asked_for_is_kept_in_its_chat_only():
    pacer = Pacer(Limits(4096))
    pacer.refused(call("1"), 7.0, now=100.0)
    pacer.refused(call("1"), 2.0, now=101.0)
    assert pacer.delay(call("1"), 103.0) == pytest.approx(4.0)
    assert pacer.delay(call("2"), 103.0) == 0.0
    assert pacer.delay(call("1"), 200.0) == 0.0


def test_memory_is_bounded_and_forgets_the_oldest(monkeypatch):
    monkeypatch.setattr(pacing, "KEPT", 3)
    pacer = Pacer(Limits(4096, (Rate("chat", 1, 100.0),)))
    for chat in ("1", "2", "3", "1", "4"):
        pacer.sent(call(chat), 0.0)
        pacer.refused(call(chat), 50.0, 0.0)
    assert (len(pacer._latest), len(pacer._until)) == (3, 3)
    assert [pacer.delay(call(chat), 1.0) for chat in ("1", "2", "3", "4")] == [99.0, 0.0, 99.0, 99.0]


calls = st.builds(call, st.sampled_from("12"), st.sampled_from(["send", "edit"]), group=st.booleans())
steps = st.lists(st.tuples(calls, st.floats(0.0, 4.0)), max_size=60)


def keys(what: Call) -> list[tuple[Rate, str]]:
    places = {
        "connection": "",
        "chat": what.chat_id,
        "group": what.chat_id if what.is_group else None,
        "method": f"{what.chat_id} {what.method}",
    }
    return [(rate, place) for rate in RATES if (place := places[rate.by]) is not None]


@given(steps=steps)
def test_no_window_holds_more_than_its_rate(steps):
    pacer, now = Pacer(Limits(4096, RATES)), 1000.0
    went: defaultdict[tuple[Rate, str], list[float]] = defaultdict(list)
    for what, pause in steps:
        now += pause
        at = go(pacer, what, now)
        assert at >= now
        for key in keys(what):
            went[key].append(at)
    for (rate, _), times in went.items():
        times.sort()
        for first, beyond in zip(times, times[rate.count :], strict=False):
            assert beyond - first >= rate.seconds - 1e-6


@given(steps=steps)
def test_a_call_waits_no_longer_than_for_a_place_to_come_free(steps):
    pacer, now = Pacer(Limits(4096, RATES)), 1000.0
    places: defaultdict[tuple[Rate, str], list[float]] = defaultdict(list)
    for what, pause in steps:
        now += pause
        at = go(pacer, what, now)
        free = [
            sorted(places[key])[-key[0].count] + key[0].seconds
            for key in keys(what)
            if len(places[key]) >= key[0].count
        ]
        assert at == pytest.approx(max([now, *free]))
        for key in keys(what):
            places[key].append(at)
