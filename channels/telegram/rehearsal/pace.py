"""How fast the bot may write before it is told to wait."""

from __future__ import annotations

import math
import time
from collections import deque

from channels.telegram.rehearsal.errors import ApiError
from channels.telegram.rehearsal.world import Chat

MINUTE = 60.0


class Pace:
    """Counts messages; each limit is off at 0.

    `per_chat` is the pause in seconds between messages in a chat, `per_group` how many a minute go to a group, and
    `per_second` how many the bot sends in all.
    """

    def __init__(self, per_chat: float, per_group: int, per_second: int) -> None:
        self._per_chat = per_chat
        self._per_group = per_group
        self._per_second = per_second
        self._sent: dict[int, deque[float]] = {}
        self._all: deque[float] = deque()

    def spend(self, chat: Chat) -> None:
        """Count one message. Raises ApiError 429 with the seconds to wait where it is too soon, and counts none."""
        if not (self._per_chat or self._per_group or self._per_second):
            return
        now = time.monotonic()
        sent = self._sent.setdefault(chat.id, deque())
        waits = [
            _wait(sent, 1, self._per_chat, now),
            _wait(sent, self._per_group if chat.kind != "private" else 0, MINUTE, now),
            _wait(self._all, self._per_second, 1.0, now),
        ]
        if max(waits) > 0:
            seconds = math.ceil(max(waits))
            raise ApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
        for times in (sent, self._all):
            times.append(now)
            while now - times[0] > max(MINUTE, self._per_chat):
                times.popleft()


def _wait(times: deque[float], count: int, seconds: float, now: float) -> float:
    """Seconds until fewer than `count` lie within the last `seconds`."""
    if not count or not seconds or len(times) < count:
        return 0.0
    return times[-count] + seconds - now
