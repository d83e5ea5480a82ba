"""The wall clock moves under the embedded ledger: forth, back, and while nobody works on it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.ledger import sqlite
from gateway.ledger.records import Finish
from gateway.ledger.sql.ledger import SqlLedger
from gateway.ledger.sqlite import open_sqlite
from gateway.ledger.sqlite.clock import SteadyClock
from tests.gateway.ledger.support import (
    CHAT,
    OTHER,
    START,
    Clock,
    answer,
    claim,
    due,
    message,
    piece,
    said,
    send,
    texts,
)

HOUR = 3600.0


def test_a_clock_that_is_moved_is_not_followed_before_it_is_told():
    wall, steady = [1000.0], [5.0]
    clock = SteadyClock(lambda: wall[0], lambda: steady[0])
    assert (clock(), clock.moved()) == (1000.0, 0.0)
    steady[0] += 10
    wall[0] += 11
    assert (clock(), clock.moved()) == (1010.0, 0.0), "a second off is nothing"
    wall[0] -= HOUR
    assert (clock(), clock.moved()) == (1010.0, 1.0 - HOUR)
    clock.follow(clock.moved())
    assert (clock(), clock.moved()) == (wall[0], 0.0)


async def move(ledger: SqlLedger, clock: Clock, seconds: float) -> None:
    """Set the clock, and let the ledger follow it."""
    await ledger.shift(seconds)
    clock.advance(seconds)


@pytest.mark.parametrize("hours", [-3, 3])
async def test_all_that_waits_is_due_as_soon_as_without_the_move(tmp_path: Path, hours: int):
    clock = Clock()
    async with open_sqlite(tmp_path / "l.db", worker=True, lease_seconds=30, clock=clock) as ledger:
        await ledger.accept([message(1)])
        (retried,) = await claim(ledger)
        await ledger.retry(retried, 15, "later")
        await ledger.accept([message(2, OTHER)], hold=5)
        await ledger.say(message(3).conversation, [piece("first"), piece("second")])
        (first,) = await due(ledger)
        await ledger.postpone(first, 4, "later")

        await move(ledger, clock, hours * HOUR)
        assert (await claim(ledger), await due(ledger)) == ([], [])
        clock.advance(5)
        assert [texts(turn) for turn in await claim(ledger)] == [["text 2"]]
        assert [said(delivery) for delivery in await due(ledger)] == ["first"]
        clock.advance(10)
        assert [texts(turn) for turn in await claim(ledger)] == [["text 1"]]
        assert await ledger.faults() == []


@pytest.mark.parametrize("hours", [-3, 3])
async def test_a_lease_lasts_as_long_as_without_the_move(tmp_path: Path, hours: int):
    clock = Clock()
    async with open_sqlite(tmp_path / "l.db", worker=True, lease_seconds=30, clock=clock) as ledger:
        await ledger.accept([message(1)])
        (turn,) = await claim(ledger)
        await move(ledger, clock, hours * HOUR)
        clock.advance(29)
        assert await claim(ledger, "w2") == []
        clock.advance(2)
        (taken,) = await claim(ledger, "w2")
        assert taken.id == turn.id


async def test_a_conversation_served_in_a_time_to_come_is_served_now(tmp_path: Path):
    clock = Clock()
    async with open_sqlite(tmp_path / "l.db", worker=True, clock=clock) as ledger:
        await ledger.accept([message(1)])
        await answer(ledger, piece("hello"))
        await send(ledger)
        await move(ledger, clock, -HOUR)
        await ledger.accept([message(2)])
        assert [texts(turn) for turn in await claim(ledger)] == [["text 2"]]


async def test_what_was_written_with_a_wrong_clock_is_due_after_a_start_with_the_right_one(tmp_path: Path):
    clock = Clock()
    async with open_sqlite(tmp_path / "l.db", worker=True, clock=clock) as ledger:
        await ledger.accept([message(1)])
        await answer(ledger)
        await ledger.accept([message(2), message(3, OTHER)])
        (first,) = [turn for turn in await claim(ledger) if turn.conversation == CHAT]
        await ledger.finish(first, Finish("answered", [piece("hello")]))
    clock.advance(-5 * HOUR)
    async with open_sqlite(tmp_path / "l.db", worker=True, clock=clock) as ledger:
        assert [texts(turn) for turn in await claim(ledger)] == [["text 3"]]
        assert [said(delivery) for delivery in await due(ledger)] == ["hello"]


async def test_a_worker_looks_at_the_clock_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wall = [START]
    monkeypatch.setattr(sqlite, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(sqlite, "SteadyClock", lambda: SteadyClock(lambda: wall[0], lambda: 0.0))
    async with open_sqlite(tmp_path / "l.db", worker=True) as ledger:
        await ledger.accept([message(1)], hold=8)
        wall[0] -= HOUR
        async with asyncio.timeout(5):
            while (await ledger.pulse(60)).oldest_open != START - HOUR:
                await asyncio.sleep(0.01)
        wall[0] += 1.5
        assert (await ledger.pulse(60)).oldest_open == START - HOUR
