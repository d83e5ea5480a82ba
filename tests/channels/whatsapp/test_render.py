"""Markdown as WhatsApp messages."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markdown.measure import utf16_units
from channels.whatsapp.render import DEFAULT_LIMIT, LOOK_ALIKES, render_text
from tests.channels.markdown.checks import LIMITS, assert_carries, assert_whole_clusters, ink
from tests.channels.markdown.strategies import MARKDOWN, NASTY

ORIGINALS = str.maketrans({look: mark for mark, look in LOOK_ALIKES.items()} | {"＞": ">"})


def same(text: str) -> str:
    """Text with the look-alikes and the percent-encoding undone."""
    return unquote(text.translate(ORIGINALS))


def read(body: str) -> str:
    """The text a reader sees, marks gone, in the most eager reading of WhatsApp's rules."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[1])
        return f"\ue000{len(kept) - 1}\ue001"

    body = re.sub(r"```(.+?)```", keep, body, flags=re.DOTALL)
    assert "```" not in body, "a fence is open"
    body = re.sub(r"`([^`\n]+)`", keep, body)
    lines = []
    for line in body.split("\n"):
        before = ""
        while before != line:
            before = line
            for mark in "*_~":
                m = re.escape(mark)
                line = re.sub(rf"(?<![A-Za-z0-9]){m}(?=\S)(.+?)(?<=\S){m}(?![A-Za-z0-9])", r"\1", line)
        lines.append(line)
    return re.sub("\ue000(\\d+)\ue001", lambda match: kept[int(match[1])], "\n".join(lines))


def text(markdown: str) -> str:
    (piece,) = render_text(markdown)
    return piece.text


def check(markdown: str, limit: int) -> None:
    bodies = [piece.text for piece in render_text(markdown, limit)]
    for body in bodies:
        assert ink(body)
        assert utf16_units(body) <= limit
    assert_carries(markdown, [read(body) for body in bodies], same)
    assert_whole_clusters(markdown, bodies, limit)


@given(MARKDOWN.filter(lambda text: "\ue000" not in text), st.sampled_from(LIMITS))
def test_any_markdown_comes_out_whole_and_valid(markdown: str, limit: int) -> None:
    check(markdown, limit)


@pytest.mark.parametrize("markdown", NASTY.values(), ids=NASTY.keys())
@pytest.mark.parametrize("limit", [64, DEFAULT_LIMIT])
def test_nasty_input(markdown: str, limit: int) -> None:
    check(markdown, limit)


@pytest.mark.parametrize("markdown", ["", " \n", "\u200b", ">", "```\n\n```"])
def test_nothing_to_see_is_no_message(markdown: str) -> None:
    assert render_text(markdown) == []


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A *heading*", "*A _heading_*"),
        ("**a *b*** ~~c~~ `d`", "*a _b_* ~c~ `d`"),
        ("**a\nb**", "*a*\n*b*"),
        ("**a `b` c**", "*a* `b` *c*"),
        ("**S**imple", "Simple"),
        ("- a\n  1. b\n- c", "- a\n  1. b\n- c"),
        ("- [ ] a\n- [x] b", "☐ a\n☑ b"),
        ("> a\n> b", "> a\n> b"),
        ("```py\nx = 1\n```", "```\nx = 1\n```"),
        ("- a\n  ```\n  x\n  ```", "- a\n```\nx\n```"),
        ("`` a`b ``", "```a`b```"),
        ("[a](https://e.x/b)", "a (https://e.x/b)"),
        ("<https://e.x/b>", "https://e.x/b"),
        ("![a](https://e.x/a.png)", "a (https://e.x/a.png)"),
        ("|a|bb|\n|-|-|\n|ccc|d|", "```\na    bb\n---  --\nccc  d\n```"),
    ],
)
def test_what_becomes_of_each_construct(markdown: str, expected: str) -> None:
    assert text(markdown) == expected


@pytest.mark.parametrize(
    "unharmed",
    [
        "2*3*4",
        "5 * 3 * 2",
        "snake_case_names",
        "one *lonely star",
        "about ~5 minutes",
        "a_b and c_d",
        "`__init__` and `*args`",
    ],
)
def test_what_can_not_become_markup_is_left_alone(unharmed: str) -> None:
    assert text(unharmed) == unharmed


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("\\*not bold\\*", "∗not bold∗"),
        ("\\_a\\_ and \\~b\\~", "ˍaˍ and ∼b∼"),
        ("\\`a\\`", "ˋaˋ"),
        ("**a\\*** b", "*a∗* b"),
        ("\\*args and \\*\\*kwargs\\*", "∗args and ∗∗kwargs∗"),
        ("**a** \\*b", "*a* ∗b"),
        ("https://e.x/_a_/b", "https://e.x/%5Fa%5F/b"),
        ("\\> not a quote", "＞ not a quote"),
        ("````\n```\n````", "```\nˋˋˋ\n```"),
    ],
)
def test_what_would_become_markup_is_shown_by_its_look_alike(markdown: str, expected: str) -> None:
    assert text(markdown) == expected


def test_a_cut_fence_is_closed_and_opened_again() -> None:
    code = "\n".join(f"line_{number} = {number}" for number in range(300))
    pieces = [piece.text for piece in render_text(f"```py\n{code}\n```")]
    assert len(pieces) > 2
    assert all(piece.startswith("```\nline_") and piece.endswith("\n```") for piece in pieces)
    assert "\n".join(piece[4:-4] for piece in pieces) == code
