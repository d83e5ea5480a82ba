"""Markdown as Slack messages."""

from __future__ import annotations

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markdown.measure import utf16_units
from channels.markdown.parse import parse
from channels.markdown.tree import Blocks, texts
from channels.slack.render import DEFAULT_LIMIT, LIMIT_MAX, TEXT_MAX, RenderedPiece, _pieces, render_text
from tests.channels.markdown.checks import LIMITS, assert_carries, assert_whole_clusters, ink
from tests.channels.markdown.strategies import MARKDOWN, NASTY

LIVE = re.compile(
    r"<(?:[@#]|!(?:channel|here|everyone|group|subteam|date)|(?:https?|mailto|tel|slack):)", re.IGNORECASE
)


def block(piece: RenderedPiece) -> str:
    (only,) = piece.blocks
    only = cast("dict[str, str]", only)
    assert only["type"] == "markdown"
    return only["text"]


def markdown(source: str) -> str:
    (piece,) = render_text(source)
    return block(piece)


def decoded(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def said(blocks: Blocks) -> str:
    return ink("".join(texts(blocks)).replace("&lt;", "<").replace("———", ""))


def check(source: str, limit: int) -> list[RenderedPiece]:
    pieces = render_text(source, limit)
    for piece in pieces:
        text = block(piece)
        assert ink(text)
        assert utf16_units(text) <= limit
        assert utf16_units(text) + utf16_units(piece.text) <= 12_000
        assert utf16_units(piece.text) <= TEXT_MAX
        assert not LIVE.search(text)
        assert "<" not in piece.text
        assert ">" not in piece.text
    # Read back as the standard Markdown it is, each block says what was put into it and nothing else.
    for part, text in _pieces(source, limit):
        assert said(parse(text)) == said(part), text
    carried = ["".join(texts(parse(block(piece)))) for piece in pieces]
    assert_carries(source, carried, decoded)
    assert_whole_clusters(source, carried, limit)
    return pieces


@given(MARKDOWN, st.sampled_from(LIMITS))
def test_any_markdown_comes_out_whole_and_valid(source: str, limit: int) -> None:
    check(source, limit)


@pytest.mark.parametrize("source", NASTY.values(), ids=NASTY.keys())
@pytest.mark.parametrize("limit", [64, DEFAULT_LIMIT])
def test_nasty_input(source: str, limit: int) -> None:
    check(source, limit)


@pytest.mark.parametrize("source", ["", " \n", "\u200b", ">", "```\n\n```"])
def test_nothing_to_see_is_no_message(source: str) -> None:
    assert render_text(source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# A *heading*", "**A _heading_**"),
        ("**a *b*** ~~c~~", "**a _b_** ~~c~~"),
        ("中文**粗体**中文", "中文**粗体**中文"),
        ("я *б*в", "я бв"),
        ("**a ``b ``** c", "**a `b `** c"),
        ("a  \nb", "a  \nb"),
        ("- a\n  1. b\n     - c\n- d", "- a\n  1. b\n     - c\n- d"),
        ("- [ ] a\n- [x] b", "- [ ] a\n- [x] b"),
        ("> a\n> > b", "> a\n>\n> > b"),
        ("```py\na < b && c\n```", "```py\na < b && c\n```"),
        ("````\n```\n````", "````\n```\n````"),
        ("`` a`b ``", "``a`b``"),
        ("[a](https://e.x/?b=1&c=2)", "[a](https://e.x/?b=1&c=2)"),
        ("[a](https://e.x/(b))", "[a](https://e.x/(b))"),
        ("[a](<https://e.x/b)c>)", "[a](https://e.x/b%29c)"),
        ("![a](https://e.x/a.png)", "[a](https://e.x/a.png)"),
        ("wow\\![a](https://e.x)", "wow\\![a](https://e.x)"),
        ("|a|bb|\n|-|-|\n|ccc|d|", "```\na    bb\n---  --\nccc  d\n```"),
        ("5 * 3, 2*3 and snake_case", "5 * 3, 2\\*3 and snake_case"),
        ("\\# a\n\n1\\. b\n\n\\- c", "\\# a\n\n1\\. b\n\n\\- c"),
        ("---", "———"),
    ],
)
def test_what_becomes_of_each_construct(source: str, expected: str) -> None:
    assert markdown(source) == expected


@pytest.mark.parametrize(
    "attack",
    [
        "<!channel>",
        "<!here|here>",
        "<!subteam^S1>",
        "<@U123>",
        "<#C1>",
        "<https://evil.example|https://good.example>",
        "<mailto:x@y.z|pay>",
    ],
)
@pytest.mark.parametrize(
    "around",
    ["{}", "`{}`", "```\n{}\n```", "**{}**", "# {}", "- {}", "> {}", "| {} |\n|-|", "[{}](https://e.x)", "\\{}"],
)
def test_slacks_own_tokens_are_only_text(attack: str, around: str) -> None:
    (piece,) = check(around.format(attack), DEFAULT_LIMIT)
    assert not LIVE.search(block(piece))
    assert "<" not in piece.text


def test_an_entity_in_an_address_is_not_one() -> None:
    assert markdown("[a](https://e.x/?b=1&amp;lt;!channel&amp;gt;)") == "[a](https://e.x/?b=1&lt%3B!channel&gt%3B)"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[https://good.com](https://evil.com)", "https://good.com ([https://evil.com](https://evil.com))"),
        ("[good.com](https://evil.com/x)", "good.com ([https://evil.com/x](https://evil.com/x))"),
        ("[good.com](https://good.com/x)", "[good.com](https://good.com/x)"),
        ("[x](javascript:alert)", "x (javascript:alert)"),
    ],
)
def test_a_link_that_names_another_host_shows_the_real_one(source: str, expected: str) -> None:
    assert markdown(source) == expected


def test_the_fallback_is_cut_between_clusters_and_says_so() -> None:
    (piece,) = render_text("&" * 700 + "👩‍👩‍👧‍👦" * 300, LIMIT_MAX)
    assert piece.text.endswith("👩‍👩‍👧‍👦…")
    assert utf16_units(piece.text) <= TEXT_MAX


def test_a_limit_without_room_for_the_fallback_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        render_text("text", LIMIT_MAX + 1)
