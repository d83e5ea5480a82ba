"""How providers count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markdown.measure import blank, segments, utf8_bytes, utf16_units


@pytest.mark.parametrize(
    ("text", "units", "size"), [("", 0, 0), ("abc", 3, 3), ("é", 1, 2), ("😜", 2, 4), ("🇮🇹", 4, 8)]
)
def test_units_and_bytes(text: str, units: int, size: int) -> None:
    assert (utf16_units(text), utf8_bytes(text)) == (units, size)


@given(st.text())
def test_no_measure_counts_less_than_the_characters(text: str) -> None:
    assert utf16_units(text) >= len(text)
    assert utf8_bytes(text) >= len(text)
    assert segments(text).units >= len(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", True), (" \n\u00a0", True), ("\u200b\u200d\u200f", True), ("\u200ba", False), (".", False)],
)
def test_blank(text: str, expected: bool) -> None:
    assert blank(text) is expected
