from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.brakes import KEPT, SAME_AT_MOST, SOON, Brakes, Verdict


class Line:
    """Somebody who writes and is answered, with a clock in the test's hand."""

    def __init__(self) -> None:
        self.brakes = Brakes()
        self.now = 1000.0
        self.texts = 0

    def writes(self, text: str | None = None, sender: str = "u1", connection: str = "shop", **limits: int) -> Verdict:
        self.texts += 1
        text = f"text {self.texts}" if text is None else text
        limits = {"per_sender": 20, "per_connection": 600, **limits}
        verdict = self.brakes.check(connection, sender, text, **limits, now=self.now)
        if verdict.stop is None:
            self.brakes.answered(connection, sender, self.now)
        return verdict


def test_a_sender_is_answered_so_often_a_minute_and_told_once():
    line = Line()
    assert [line.writes().stop for _ in range(20)] == [None] * 20
    assert [line.writes() for _ in range(3)] == [Verdict("rate_limited", True), *[Verdict("rate_limited")] * 2]
    assert line.writes(sender="u2").stop is None
    assert line.writes(connection="team").stop is None
    line.now += 3
    assert line.writes().stop is None
    assert line.writes() == Verdict("rate_limited")
    line.now += 60
    assert [line.writes().stop for _ in range(20)] == [None] * 20
    assert line.writes() == Verdict("rate_limited", True)


def test_a_connection_is_answered_so_often_whoever_writes():
    line = Line()
    verdicts = [line.writes(sender=f"u{n}", per_connection=30) for n in range(31)]
    assert verdicts == [Verdict(None)] * 30 + [Verdict("rate_limited")]


def test_a_machine_that_answers_every_answer_is_answered_no_more():
    line = Line()
    stops = []
    for _ in range(30):
        stops.append(line.writes("I am out of office.").stop)
        line.now += 4
    assert stops[:SAME_AT_MOST] == [None] * SAME_AT_MOST
    assert set(stops[SAME_AT_MOST:]) == {"bot_loop"}
    assert line.writes("But now it is me.").stop is None
    assert line.writes("  i AM out\nof office. ").stop is None


def test_a_person_may_say_the_same_again_and_again():
    line = Line()
    for _ in range(30):
        assert line.writes("ok").stop is None
        line.now += SOON + 1


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 30)), max_size=200))
def test_in_no_window_of_time_more_than_the_limit_and_what_the_bucket_held(steps):
    line = Line()
    answered: dict[str, list[float]] = {}
    for sender, pause in steps:
        line.now += pause
        if line.writes(sender=f"u{sender}", per_sender=5).stop is None:
            answered.setdefault(f"u{sender}", []).append(line.now)
    for times in answered.values():
        for start in times:
            assert sum(start <= at <= start + 60 for at in times) <= 10


def test_memory_is_bounded():
    line = Line()
    for n in range(KEPT + 10):
        line.writes(sender=f"u{n}", per_connection=100_000)
    assert len(line.brakes._people.of) == KEPT
