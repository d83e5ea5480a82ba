"""What stops a flood and a loop: how often one sender, and one connection, is answered.

Posts of bots never reach an agent at all (`bot_message`). These brakes are for what looks like a person: somebody who
writes faster than people do, and a machine that answers every answer.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

Stop = Literal["rate_limited", "bot_loop"]

MINUTE = 60.0

KEPT = 20_000
"""Senders whose pace is remembered; a forgotten one starts afresh."""

SAME_AT_MOST = 6
"""How often in a row one sender may say the same, each time soon after an answer, before it counts as a machine."""

SOON = 20.0
"""Seconds after an answer within which a machine would answer it."""

NOTICE = "You are writing faster than I can answer. Please wait a minute."

T = TypeVar("T")


@dataclass(slots=True)
class Bucket:
    """Tokens that come back at an even rate, up to as many as a minute has."""

    tokens: float
    at: float

    def take(self, per_minute: int, now: float) -> bool:
        """Use one, if there is one."""
        self.tokens = min(per_minute, self.tokens + (now - self.at) * per_minute / MINUTE)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@dataclass(slots=True)
class Person:
    """What is remembered of one sender."""

    bucket: Bucket
    said: str = ""
    times: int = 0
    answered_at: float = float("-inf")
    told_at: float = float("-inf")


@dataclass(slots=True)
class Recent(Generic[T]):
    """The latest of something by key, so many at most."""

    of: OrderedDict[str, T] = field(default_factory=OrderedDict[str, T])

    def keep(self, key: str, value: T) -> T:
        """What is there under the key, or this, as the latest."""
        found = self.of.setdefault(key, value)
        self.of.move_to_end(key)
        while len(self.of) > KEPT:
            self.of.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a turn is not answered, if it isn't, and whether the sender is told."""

    stop: Stop | None
    tell: bool = False


class Brakes:
    """The pace of every sender and connection, in memory. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._people: Recent[Person] = Recent()
        self._connections: Recent[Bucket] = Recent()

    def check(
        self, connection_id: str, sender_id: str, text: str, *, per_sender: int, per_connection: int, now: float
    ) -> Verdict:
        """Whether a turn may be answered; asking counts as answering. Limits are turns a minute."""
        person = self._people.keep(f"{connection_id} {sender_id}", Person(Bucket(per_sender, now)))
        said = " ".join(text.split()).casefold()
        follows = said == person.said and now - person.answered_at <= SOON
        person.said, person.times = said, person.times + 1 if follows else 1
        if person.times > SAME_AT_MOST:
            person.answered_at = now
            return Verdict("bot_loop")
        whole = self._connections.keep(connection_id, Bucket(per_connection, now))
        too_fast = not person.bucket.take(per_sender, now)
        if not too_fast and whole.take(per_connection, now):
            return Verdict(None)
        tell = too_fast and now - person.told_at >= MINUTE  # a flood from many is not answered with a flood of notices
        if tell:
            person.told_at = now
        return Verdict("rate_limited", tell)

    def answered(self, connection_id: str, sender_id: str, now: float) -> None:
        """An answer to this sender is on its way."""
        person = self._people.of.get(f"{connection_id} {sender_id}")
        if person is not None:
            person.answered_at = now
