"""Pacing: how long a call has to wait so that its channel's rates hold. Memory stays bounded."""

from __future__ import annotations

from collections import OrderedDict

from channels.adapter import Call, Limits, Rate

KEPT = 10_000
"""Chats whose pace is remembered; a forgotten one starts with a full bucket."""

Key = tuple[str, ...]


class Pacer:
    """Token buckets over a channel's rates, and the waits that a provider asked for. Times are monotonic seconds."""

    def __init__(self, limits: Limits) -> None:
        self._rates = limits.rates
        self._buckets: OrderedDict[Key, tuple[float, float]] = OrderedDict()
        self._until: OrderedDict[Key, float] = OrderedDict()

    def delay(self, call: Call, now: float) -> float:
        """Seconds until this call may go."""
        waits = [self._until.get(key, now) - now for key in _held(call)]
        for key, rate in self._keys(call):
            tokens = self._tokens(key, rate, now)
            if tokens < 1:
                waits.append((1 - tokens) * rate.seconds / rate.count)
        return max(0.0, *waits)

    def sent(self, call: Call, now: float) -> None:
        """A call goes at this moment."""
        for key, rate in self._keys(call):
            self._buckets[key] = (self._tokens(key, rate, now) - 1, now)
            self._buckets.move_to_end(key)
        while len(self._buckets) > KEPT:
            self._buckets.popitem(last=False)

    def refused(self, call: Call, after: float, now: float) -> None:
        """The provider asked for a pause of `after` seconds in this chat."""
        key = _held(call)[0]
        self._until[key] = max(self._until.get(key, 0.0), now + after)
        while len(self._until) > KEPT:
            self._until.popitem(last=False)

    def _keys(self, call: Call) -> list[tuple[Key, Rate]]:
        keys: list[tuple[Key, Rate]] = []
        for rate in self._rates:
            match rate.by:
                case "connection":
                    keys.append((("connection",), rate))
                case "chat":
                    keys.append((("chat", call.chat_id), rate))
                case "group" if call.is_group:
                    keys.append((("group", call.chat_id), rate))
                case "method":
                    keys.append((("method", call.chat_id, call.method), rate))
        return keys

    def _tokens(self, key: Key, rate: Rate, now: float) -> float:
        tokens, at = self._buckets.get(key, (float(rate.count), now))
        return min(float(rate.count), tokens + max(0.0, now - at) * rate.count / rate.seconds)


def _held(call: Call) -> tuple[Key]:
    return (("chat", call.chat_id),)
