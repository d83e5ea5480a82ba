"""How fast the rehearsed Telegram lets a bot write."""

from __future__ import annotations

import pytest

from channels.telegram.rehearsal import pace
from channels.telegram.rehearsal.errors import ApiError
from channels.telegram.rehearsal.pace import Pace
from channels.telegram.rehearsal.world import Chat

DM, OTHER = Chat({"id": 1, "type": "private"}), Chat({"id": 2, "type": "private"})
GROUP = Chat({"id": -1, "type": "supergroup"})


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = [1000.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    return now


def wait(limits: Pace, chat: Chat) -> int:
    """Seconds that Telegram asks for; 0 when it took the message."""
    try:
        limits.spend(chat)
    except ApiError as error:
        assert error.code == 429
        assert error.description == f"Too Many Requests: retry after {error.parameters['retry_after']}"
        return error.parameters["retry_after"]
    return 0


def test_nothing_is_limited_unless_it_is_asked_for():
    limits = Pace(0.0, 0, 0)
    assert [wait(limits, GROUP) for _ in range(100)] == [0] * 100


def test_a_chat_has_a_pause_between_messages(clock):
    limits = Pace(2.5, 0, 0)
    assert (wait(limits, DM), wait(limits, DM), wait(limits, OTHER)) == (0, 3, 0)
    clock[0] += 2.0
    assert wait(limits, DM) == 1
    clock[0] += 0.5
    assert wait(limits, DM) == 0


def test_a_group_has_so_many_a_minute_and_a_private_chat_has_not(clock):
    limits = Pace(0.0, 2, 0)
    assert [wait(limits, GROUP) for _ in range(3)] == [0, 0, 60]
    assert [wait(limits, DM) for _ in range(5)] == [0] * 5
    clock[0] += 59.5
    assert wait(limits, GROUP) == 1
    clock[0] += 0.5
    assert wait(limits, GROUP) == 0


def test_the_minute_of_a_group_goes_along_with_time(clock):
    limits = Pace(0.0, 2, 0)
    waits = []
    for later in (0.0, 30.0, 30.0, 10.0, 20.0):
        clock[0] += later
        waits.append(wait(limits, GROUP))
    assert waits == [0, 0, 0, 20, 0]


def test_the_bot_has_so_many_a_second(clock):
    limits = Pace(0.0, 0, 2)
    assert [wait(limits, chat) for chat in (DM, OTHER, GROUP)] == [0, 0, 1]
    clock[0] += 1.0
    assert wait(limits, GROUP) == 0


def test_what_was_refused_does_not_count(clock):
    limits = Pace(10.0, 0, 1)
    wait(limits, DM)
    clock[0] += 1.0
    assert wait(limits, DM) == 9
    assert wait(limits, OTHER) == 0
