"""What goes wrong on demand."""

from __future__ import annotations

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.rehearsal.faults import Fault, Faults


def test_faults_are_used_up_in_order_each_for_its_method():
    faults = Faults()
    faults.add(Fault(method="send", status=429, retry_after=3, times=2))
    faults.add(Fault(status=500))
    faults.add(Fault(method="send", delay=0.1))
    taken = [faults.take(method) for method in ("SEND", "other", "Send", "other", "send", "send")]
    assert [t and (t.status or t.delay) for t in taken] == [429, 500, 429, None, 0.1, None]


def test_a_fault_is_used_up_without_a_trace_on_the_one_that_was_given():
    fault, faults = Fault(status=500), Faults()
    for _ in range(2):
        faults.add(fault)
        assert faults.take("any") is not None
    assert fault.times == 1


def test_faults_of_events_leave_calls_alone_and_the_other_way_round():
    faults = Faults()
    faults.add(Fault(duplicate=True))
    assert faults.take("any") is None
    assert [faults.duplicates(), faults.duplicates()] == [True, False]
    faults.add(Fault(status=500))
    assert faults.duplicates() is False
    assert faults.reordered("a") == ["a"]


@pytest.mark.parametrize(
    ("given_", "drop"),
    [({"drop": True}, "before"), ({"drop": True, "when": "after"}, "after"), ({"drop": "after"}, "after"),
     ({"drop": False, "status": 500}, None)],
)  # fmt: skip
def test_a_drop_is_before_or_after_acting(given_, drop):
    assert Fault.model_validate(given_).drop == drop


def test_what_is_held_back_comes_after_the_next():
    faults = Faults()
    faults.add(Fault(reorder=True))
    assert [faults.reordered(event) for event in "abc"] == [[], ["b", "a"], ["c"]]


def test_what_is_held_back_still_comes_when_the_faults_are_taken_away():
    faults = Faults()
    faults.add(Fault(reorder=True, times=2))
    faults.reordered("a")
    faults.clear()
    assert faults.reordered("b") == ["b", "a"]


@given(st.lists(st.booleans(), max_size=30))
def test_reordering_loses_nothing_and_repeats_nothing(held):
    faults = Faults()
    delivered = []
    for number, hold in enumerate(held):
        if hold:
            faults.add(Fault(reorder=True))
        delivered += faults.reordered(number)
    faults.clear()
    delivered += faults.reordered(len(held))
    assert sorted(delivered) == list(range(len(held) + 1))


async def test_a_dropped_connection_has_acted_or_not(phone, http):
    for when, heard in (("before", 0), ("after", 1)):
        await phone.fault(drop=True, when=when)
        with pytest.raises(aiohttp.ClientError):
            await http.post("/post", json={"chat": "lobby", "text": "a"})
        assert len(await phone.replies()) == heard


async def test_events_are_delivered_twice_and_out_of_order(server, phone):
    await phone.fault(duplicate=True)
    await phone.say("one")
    await phone.fault(reorder=True)
    await phone.say("two")
    await phone.say("three")
    assert server.came == ["one", "one", "three", "two"]


async def test_faults_can_be_taken_away(phone, http):
    await phone.fault(status=500, times=9)
    await phone.clear_faults()
    async with http.post("/post", json={"chat": "lobby", "text": "a"}) as response:
        assert response.status == 200
