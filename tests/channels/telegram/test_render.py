"""Markdown as Telegram messages."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.markdown.measure import utf8_bytes, utf16_units
from channels.telegram.render import ENTITIES_MAX, HTML_BYTES_MAX, RenderedPiece, render_text
from tests.channels.markdown.checks import LIMITS, assert_carries, assert_whole_clusters
from tests.channels.markdown.strategies import MARKDOWN, NASTY
from tests.channels.markdown.telegram_html import read


def html(markdown: str) -> str:
    (piece,) = render_text(markdown)
    return piece.html


def check(markdown: str, limit: int) -> list[RenderedPiece]:
    pieces = render_text(markdown, limit)
    readings = [read(piece.html) for piece in pieces]
    for piece, (text, entities) in zip(pieces, readings, strict=True):
        assert text.strip()
        assert utf16_units(text) <= limit
        assert utf16_units(piece.plain) <= limit
        assert utf8_bytes(piece.html) <= HTML_BYTES_MAX
        assert len(entities) <= ENTITIES_MAX
        for entity in entities:
            if entity.kind == "a":
                assert entity.value.lower().startswith(("https://", "http://", "tg:", "mailto:"))
    texts = [text for text, _ in readings]
    assert_carries(markdown, texts)
    assert_carries(markdown, [piece.plain for piece in pieces])
    assert_whole_clusters(markdown, texts, limit)
    return pieces


@given(MARKDOWN, st.sampled_from(LIMITS))
@example("[👩‍👩‍👧‍👦](https://example.com/a-rather-long-address-for-a-limit-of-forty)", 40)
def test_any_markdown_comes_out_whole_and_valid(markdown: str, limit: int) -> None:
    check(markdown, limit)


@pytest.mark.parametrize("markdown", NASTY.values(), ids=NASTY.keys())
@pytest.mark.parametrize("limit", [64, 4096])
def test_nasty_input(markdown: str, limit: int) -> None:
    check(markdown, limit)


@pytest.mark.parametrize("markdown", ["", "  \n\t\n", "\u200b", ">", "#", "```\n\n```", "\x00"])
def test_nothing_to_see_is_no_message(markdown: str) -> None:
    assert render_text(markdown) == []


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A *heading*", "<b>A <i>heading</i></b>"),
        ("**a _b_** ~~c~~", "<b>a <i>b</i></b> <s>c</s>"),
        ("a<b but c>d & e", "a&lt;b but c&gt;d &amp; e"),
        ("**a `b` c**", "<b>a </b><code>b</code><b> c</b>"),
        ("```c++\na < b\n```", '<pre><code class="language-c++">a &lt; b</code></pre>'),
        ("```\na\n```", "<pre>a</pre>"),
        ("[a](https://e.x/?b=1&c=2)", '<a href="https://e.x/?b=1&amp;c=2">a</a>'),
        ("[a](https://e.x/(b))", '<a href="https://e.x/(b)">a</a>'),
        ('[a](<https://e.x/"b>)', '<a href="https://e.x/%22b">a</a>'),
        ("[**a** b](https://e.x)", '<a href="https://e.x"><b>a</b> b</a>'),
        ("**see [a](https://e.x) now**", '<b>see <a href="https://e.x">a</a> now</b>'),
        ("![a cat](https://e.x/cat.png)", '<a href="https://e.x/cat.png">a cat</a>'),
        ("[a](javascript:alert(1))", "a (javascript:alert(1))"),
        ("[a](docs/a.md)", "a (docs/a.md)"),
        ("[https://good.com](https://evil.com)", 'https://good.com (<a href="https://evil.com">https://evil.com</a>)'),
        ("> a\n> > b", "<blockquote>a\n\n&gt; b</blockquote>"),
        ("- a\n  1. b\n     - c\n- d", "• a\n  1. b\n     • c\n• d"),
        ("- [ ] a\n- [x] b", "☐ a\n☑ b"),
        ("3) a\n4) b", "3) a\n4) b"),
        ("- a\n  ```\n  x\n  ```\n- b", "• a\n<pre>x</pre>\n• b"),
        ("|a|bb|\n|-|-|\n|ccc|d|", "<pre>a    bb\n---  --\nccc  d</pre>"),
        ("a  \nb\nc", "a\nb\nc"),
        ("---", "———"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
    ],
)
def test_what_becomes_of_each_construct(markdown: str, expected: str) -> None:
    assert html(markdown) == expected


def test_plain_text_writes_addresses_out() -> None:
    (piece,) = render_text("**Read** [the page](https://e.x/a) or <https://e.x>")
    assert piece.plain == "Read the page (https://e.x/a) or https://e.x"


def test_a_cut_fence_is_closed_and_opened_with_its_language() -> None:
    code = "\n".join(f"line_{number} = {number}" for number in range(800))
    pieces = render_text(f"Look:\n\n```python\n{code}\n```\n\nDone.")
    assert len(pieces) > 2
    assert pieces[0].html.startswith('Look:\n\n<pre><code class="language-python">line_0')
    for piece in pieces[1:]:
        assert piece.html.startswith('<pre><code class="language-python">line_')
    read_back = "\n".join(read(piece.html)[0] for piece in pieces)
    assert read_back == f"Look:\n\n{code}\n\nDone."


def test_cuts_prefer_blocks_then_sentences_then_words() -> None:
    assert [p.plain for p in render_text("First one. " * 5 + "\n\n" + "Second one. " * 5, 80)] == [
        ("First one. " * 5).strip(),
        ("Second one. " * 5).strip(),
    ]
    sentences = "One two three four. Five six seven eight. Nine ten eleven twelve."
    assert [p.plain for p in render_text(sentences, 45)] == [
        "One two three four. Five six seven eight.",
        "Nine ten eleven twelve.",
    ]
    assert [p.plain for p in render_text("alpha beta gamma delta epsilon", 20)] == ["alpha beta gamma", "delta epsilon"]


def test_a_heading_stays_with_what_it_heads() -> None:
    pieces = render_text("Intro text here.\n\n# Head\n\n" + "word " * 12, 80)
    assert [piece.plain.split("\n")[0] for piece in pieces] == ["Intro text here.", "Head"]


def test_a_link_is_not_cut_while_it_fits_and_opened_again_when_it_does_not() -> None:
    pieces = render_text("some words before [the link text](https://e.x) after", 40)
    assert any('<a href="https://e.x">the link text</a>' in piece.html for piece in pieces)
    pieces = render_text(f"[{'word ' * 30}](https://e.x)", 60)
    assert len(pieces) > 2
    assert all(piece.html.startswith('<a href="https://e.x">') for piece in pieces)


def test_more_than_a_hundred_entities_go_into_the_next_message() -> None:
    pieces = render_text("**b** x " * 250)
    assert [len(read(piece.html)[1]) for piece in pieces] == [100, 100, 50]


def test_html_stays_under_the_servers_byte_limit() -> None:
    pieces = render_text(f"[a](https://e.x/{'b' * 1900}) " * 60, 100_000)
    assert len(pieces) > 1
    assert all(utf8_bytes(piece.html) <= HTML_BYTES_MAX for piece in pieces)


def test_a_limit_too_small_to_cut_for_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        render_text("text", 15)
