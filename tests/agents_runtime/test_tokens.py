"""The token estimate, beside counts of OpenAI's o200k vocabulary taken once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_runtime.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "counted", "at_most"),
    [
        ("We are open Monday to Friday from 9:00 to 18:00, and Saturday from 10:00 to 16:00.", 30, 1.3),
        ('{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}', 26, 1.6),
        ("Wir haben Montag bis Freitag von 9:00 bis 18:00 Uhr geöffnet.", 18, 1.4),
        ("Мы работаем с понедельника по пятницу с девяти до восемнадцати часов.", 21, 3.0),
        ("月曜日から金曜日までは午前九時から午後六時まで営業しております。", 19, 1.8),
    ],
)
def test_it_errs_on_the_high_side_and_not_by_much(text: str, counted: int, at_most: float) -> None:
    assert counted <= estimate_tokens(text) <= counted * at_most


def test_nothing_costs_nothing() -> None:
    assert estimate_tokens("") == estimate_tokens(" ") == 0


@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_never_costs_less(one: str, other: str) -> None:
    assert max(estimate_tokens(one), estimate_tokens(other)) <= estimate_tokens(f"{one}\n\n{other}")
