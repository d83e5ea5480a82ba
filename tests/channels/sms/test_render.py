"""Markdown as SMS, and what an SMS costs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markdown.measure import utf16_units
from channels.sms.render import DEFAULT_LIMIT, Segments, render_text, segments, transliterated
from tests.channels.markdown.checks import LIMITS, assert_carries, assert_whole_clusters, ink
from tests.channels.markdown.strategies import MARKDOWN, NASTY

OWN_VECTORS = [
    ("", "GSM-7", 0),
    ("a", "GSM-7", 1),
    ("a" * 160, "GSM-7", 1),
    ("a" * 161, "GSM-7", 2),
    ("a" * 306, "GSM-7", 2),
    ("a" * 307, "GSM-7", 3),
    ("€" * 80, "GSM-7", 1),
    ("€" * 81, "GSM-7", 2),
    # 152 septets, then two that may not be parted: the segment ends one early, and so does the next.
    ("a" * 152 + "€" + "a" * 151 + "€", "GSM-7", 3),
    ("[]{}\\^~|€", "GSM-7", 1),
    ("ÄÖÜäöüßàèéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæÉÑñ¡¿§¤", "GSM-7", 1),
    ("ç", "UCS-2", 1),
    ("я" * 70, "UCS-2", 1),
    ("я" * 71, "UCS-2", 2),
    ("я" * 134, "UCS-2", 2),
    ("я" * 135, "UCS-2", 3),
    ("😜" * 35, "UCS-2", 1),
    # 66 units, then a pair that may not be parted.
    ("я" * 66 + "😜" + "я" * 65, "UCS-2", 2),
    ("я" * 66 + "😜" + "я" * 66, "UCS-2", 3),
    ("a" * 69 + "“", "UCS-2", 1),
]


def twilio_vectors() -> list[tuple[str, str, int]]:
    """Twilio's own vectors, where the folder with providers' payloads is at hand."""
    root = Path(__file__).resolve().parents[3]
    folder = Path(os.environ.get("POSTROOM_PAYLOADS") or root.parent / "shared" / "payloads")
    file = folder / "twilio" / "twilio-sms-segment-vectors.json"
    if not file.is_file():
        return []
    return [(vector["body"], vector["encoding"], vector["segments"]) for vector in json.loads(file.read_text("utf-8"))]


@pytest.mark.parametrize(("body", "encoding", "count"), OWN_VECTORS + twilio_vectors())
def test_segments(body: str, encoding: str, count: int) -> None:
    found = segments(body)
    assert (found.encoding, found.count) == (encoding, count)


@pytest.mark.parametrize(("body", "units"), [("a€", 3), ("я😜", 3), ("[x]", 5)])
def test_units_are_septets_or_utf16(body: str, units: int) -> None:
    assert segments(body).units == units


def texts(markdown: str) -> list[str]:
    return [piece.text for piece in render_text(markdown)]


def check(markdown: str, limit: int, max_segments: int | None = None) -> None:
    pieces = render_text(markdown, limit, max_segments=max_segments)
    for piece in pieces:
        assert ink(piece.text)
        assert utf16_units(piece.text) <= limit
        assert piece.segments == segments(piece.text)
        assert max_segments is None or piece.segments.count <= max_segments
    shown = [piece.text for piece in pieces]
    assert_carries(markdown, shown)
    assert_whole_clusters(markdown, shown, min(limit, 67 * (max_segments or 100)))


@given(MARKDOWN, st.sampled_from(LIMITS), st.sampled_from([None, 1, 3]))
def test_any_markdown_comes_out_whole_and_valid(markdown: str, limit: int, max_segments: int | None) -> None:
    check(markdown, limit, max_segments)


@pytest.mark.parametrize("markdown", NASTY.values(), ids=NASTY.keys())
@pytest.mark.parametrize("max_segments", [None, 1])
def test_nasty_input(markdown: str, max_segments: int | None) -> None:
    check(markdown, DEFAULT_LIMIT, max_segments)


@pytest.mark.parametrize("markdown", ["", " \n", "\u200b", ">", "```\n\n```"])
def test_nothing_to_see_is_no_message(markdown: str) -> None:
    assert render_text(markdown) == []


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A *heading*", "A heading"),
        ("**a** _b_ ~~c~~ `d`", "a b c d"),
        ("[a](https://e.x)", "a (https://e.x)"),
        ("[e.x](https://e.x/)", "e.x"),
        ("<https://e.x> or ann@e.x", "https://e.x or ann@e.x"),
        ("- a\n  1. b\n- [x] c", "- a\n  1. b\n[x] c"),
        ("> a", "> a"),
        ("```py\nx = 1\n```", "x = 1"),
        ("|Day|Open|\n|-|-|\n|Mon|9-17|\n|Sun||", "Day: Open\nMon: 9-17\nSun"),
        ("|a|b|c|\n|-|-|-|\n|1|[x](https://e.x)|3|", "a: b, c\n1: x (https://e.x), 3"),
        ("a\n\n---\n\nb", "a\n\n---\n\nb"),
    ],
)
def test_what_becomes_of_each_construct(markdown: str, expected: str) -> None:
    assert texts(markdown) == [expected]


def test_max_segments_bounds_every_message() -> None:
    pieces = render_text("The quick brown fox jumps over the lazy dog. " * 40, max_segments=2)
    assert all(piece.segments == Segments("GSM-7", 2, len(piece.text)) for piece in pieces[:-1])
    assert len(pieces) == 7


def test_transliteration_keeps_a_message_in_gsm_7() -> None:
    markdown = "“It’s open” – 9…17\u00a0h • daily"
    (as_written,) = render_text(markdown)
    (plain,) = render_text(markdown, transliterate=True)
    assert as_written.segments.encoding == "UCS-2"
    assert plain.segments.encoding == "GSM-7"
    assert plain.text == '"It\'s open" - 9...17 h - daily'


def test_transliteration_leaves_letters_alone() -> None:
    assert transliterated("naïve café 日本 😜") == "naïve café 日本 😜"
