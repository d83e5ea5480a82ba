"""What a rehearsal remembers, and for how long."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from channels.rehearsal import journal
from channels.rehearsal.journal import Journal

steps = st.lists(st.tuples(st.sampled_from(["call", "reply"]), st.sampled_from("abc")), max_size=40)


@given(steps, st.integers(0, 45))
def test_what_came_after_a_position_is_told_once_and_in_order(done, after):
    kept = Journal()
    calls, replies = [], []
    for n, (what, chat) in enumerate(done, 1):
        if what == "call":
            kept.record("m", {}, 200, None)
            calls.append(n)
        else:
            kept.reply(chat, str(n), "text", "m")
            replies.append((n, chat))
    assert kept.position == len(done)
    assert [call.n for call in kept.calls(after)] == [n for n in calls if n > after]
    assert [reply.n for reply in kept.since(None, after)] == [n for n, _ in replies if n > after]
    for chat in "abc":
        assert [reply.n for reply in kept.since(chat, after)] == [n for n, c in replies if c == chat and n > after]


def test_the_oldest_is_forgotten_first_everywhere(monkeypatch):
    monkeypatch.setattr(journal, "KEPT", 3)
    kept = Journal()
    for chat in "abca":
        kept.reply(chat, "r", "text", "m")
    assert [reply.n for reply in kept.since(None, 0)] == [2, 3, 4]
    assert [reply.n for reply in kept.since("a", 0)] == [4]
    kept.reply("c", "r", "text", "m")
    assert kept.since("b", 0) == []


def test_the_bytes_of_a_file_are_not_kept():
    kept = Journal()
    kept.record("m", {"chat": 1, "file": b"bytes", "of": object(), "markup": {"a": []}}, 200, None)
    (call,) = kept.calls(0)
    assert call.params == {"chat": 1, "markup": {"a": []}}


def test_typing_is_seen_until_it_ends_or_something_is_said():
    kept = Journal()
    kept.typing("a", 60.0)
    kept.typing("b", 0.0)
    assert (kept.is_typing("a"), kept.is_typing("b"), kept.is_typing(None)) == (True, False, True)
    kept.reply("a", "r", "text", "m")
    assert kept.is_typing(None) is False


async def test_who_gives_up_waiting_is_not_remembered():
    kept = Journal()
    assert await kept.heard("a", 0, 0.001) == []
    waiting = asyncio.create_task(kept.heard("a", 0, 30))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert kept._waiting == {}
    kept.reply("a", "r", "text", "m")
    assert len(await kept.heard("a", 0, 30)) == 1


async def test_waiting_from_a_position_still_to_come_goes_on_until_it_is_passed():
    kept = Journal()
    waiting = asyncio.create_task(kept.heard("a", 2, 30))
    for _ in range(3):
        await asyncio.sleep(0)
        kept.reply("a", "r", "text", "m")
    assert [reply.n for reply in await waiting] == [3]
