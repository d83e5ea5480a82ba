"""Markdown as Slack messages."""

from __future__ import annotations

import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markdown.layout import Layout
from channels.markdown.links import settle_links
from channels.markdown.measure import utf16_units
from channels.markdown.parse import parse
from channels.markdown.plain import PLAIN
from channels.markdown.tables import aligned
from channels.markdown.tree import rewrite, texts
from channels.slack.render import DEFAULT_LIMIT, LIMIT_MAX, SCHEMES, TEXT_MAX, RenderedPiece, render_text
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
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("———", "---")


def said(text: str) -> str:
    return ink(decoded(text)).replace(">", "")


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
        # Standard Markdown again: read back, it says what the fallback says.
        again = rewrite(parse(text), lambda spans: settle_links(spans, SCHEMES), aligned)
        # Below that, a link that fits nowhere comes out as bare text, and reads back as another link.
        if limit >= 160 and not piece.text.endswith("…"):
            # But for the number of lines in a quote, which a list that was cut adds to.
            assert said(Layout(PLAIN).text(again)) == said(decoded(piece.text)), text
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
