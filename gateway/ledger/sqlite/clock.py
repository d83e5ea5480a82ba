"""The embedded ledger's clock: the wall clock, as long as it runs evenly."""

from __future__ import annotations

import time
from collections.abc import Callable

EVEN = 2.0
"""Seconds that the wall clock may be off before it counts as moved; NTP slews far less between two looks."""


def since_boot() -> float:
    """Seconds that no setting of the clock touches; where the system can tell, those asleep are among them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SteadyClock:
    """Runs evenly whatever happens to the wall clock, until it is told to follow it."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = since_boot) -> None:
        self._wall = wall
        self._steady = steady
        self._ahead = wall() - steady()

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._steady() + self._ahead

    def moved(self) -> float:
        """By how many seconds the wall clock was moved; 0 while it runs evenly."""
        off = self._wall() - self()
        return off if abs(off) > EVEN else 0.0

    def follow(self, by: float) -> None:
        """Go by the moved wall clock from now on."""
        self._ahead += by
