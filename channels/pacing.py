"""Pacing: how long a call has to wait so that its channel's rates hold. Memory stays bounded."""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict

from channels.adapter import Call, Limits, Rate

KEPT = 10_000
"""Chats whose pace is remembered; a forgotten one starts afresh."""

Key = tuple[Rate, str, str]


class Pacer:
    """The latest calls under each rate of a channel, and the pauses a provider asked for. Times are monotonic seconds.

    A rate holds in every window of its length: a call goes only when the `count`th latest before it is old enough.
    """

    share: int
    """How many processes keep to these rates together: each sends so many times slower."""

    def __init__(self, limits: Limits) -> None:
        self.share = 1
        self._rates = limits.rates
        self._latest: OrderedDict[Key, list[float]] = OrderedDict()
        self._until: OrderedDict[str, float] = OrderedDict()

    def delay(self, call: Call, now: float) -> float:
        """Seconds until this call may go."""
        free = [self._until.get(call.chat_id, now)]
        for key in self._keys(call):
            rate, latest = key[0], self._latest.get(key, [])
            if len(latest) == rate.count:
                free.append(latest[0] + rate.seconds * self.share)
        return max(0.0, max(free) - now)

    def sent(self, call: Call, at: float) -> None:
        """A call goes at this moment, which may be still to come."""
        for key in self._keys(call):
            latest = self._latest.setdefault(key, [])
            insort(latest, at)
            del latest[: -key[0].count]
            self._latest.move_to_end(key)
        _forget(self._latest)

    def refused(self, call: Call, after: float, now: float) -> None:
        """The provider asked for a pause of `after` seconds in this chat."""
        self._until[call.chat_id] = max(self._until.get(call.chat_id, now), now + after)
        self._until.move_to_end(call.chat_id)
        _forget(self._until)

    def _keys(self, call: Call) -> list[Key]:
        keys: list[Key] = []
        for rate in self._rates:
            match rate.by:
                case "connection":
                    keys.append((rate, "", ""))
                case "chat":
                    keys.append((rate, call.chat_id, ""))
                case "group" if call.is_group:
                    keys.append((rate, call.chat_id, ""))
                case "method":
                    keys.append((rate, call.chat_id, call.method))
        return keys


def _forget(remembered: OrderedDict[Key, list[float]] | OrderedDict[str, float]) -> None:
    while len(remembered) > KEPT:
        remembered.popitem(last=False)
