"""Cutting trees. Here a piece is its plain text, so that cuts can be seen."""

from __future__ import annotations

import pytest

from channels.markdown.layout import Layout
from channels.markdown.parse import parse
from channels.markdown.places import cluster_prefix
from channels.markdown.plain import PLAIN
from channels.markdown.split import split
from channels.markdown.tree import Blocks


def pieces(markdown: str, limit: int) -> list[str]:
    return split(parse(markdown), Layout(PLAIN).text, lambda text: len(text) <= limit, limit)


@pytest.mark.parametrize(
    ("markdown", "limit", "expected"),
    [
        ("one\n\ntwo", 20, ["one\n\ntwo"]),
        ("one two three.\n\nfour five six.", 20, ["one two three.", "four five six."]),
        # A line or a sentence counts only in the further half, else a word.
        ("First. Second words and words.", 20, ["First. Second words", "and words."]),
        ("First words here. Second ones.", 20, ["First words here.", "Second ones."]),
        ("a line of text\nanother line of it", 22, ["a line of text", "another line of it"]),
        ("“Is it?” he asked them all", 16, ["“Is it?”", "he asked them", "all"]),
        ("今日は晴れです。明日は雨が降るでしょう。", 16, ["今日は晴れです。", "明日は雨が降るでしょう。"]),
        # A word is cut only where it fits nowhere.
        ("go abcdefghijklmnopqrstuvwxyz", 16, ["go", "abcdefghijklmnop", "qrstuvwxyz"]),
        ("a word\n\nabcdefghijklmno pqr stu vwx", 16, ["a word", "abcdefghijklmno", "pqr stu vwx"]),
        # Containers go on.
        ("> one two three four", 16, ["> one two three", "> four"]),
        ("- one two three four\n- five", 16, ["- one two three", "  four\n- five"]),
        ("9. one two three four\n10. x", 16, ["9. one two three", "   four\n10. x"]),
        ("> - one two\n> - three\n>\n> x", 16, ["> - one two", "> - three\n>\n> x"]),
        ("- [x] one two three four", 16, ["[x] one two", "  three four"]),
        # An oversized block fills the room that is left, a small one doesn't.
        ("intro\n\none two three four five six", 16, ["intro\n\none two", "three four five", "six"]),
        # A heading goes with what it heads.
        ("intro text\n\n# Head\n\nbody", 18, ["intro text", "Head\n\nbody"]),
        # Code is cut at its lines and keeps its indentation.
        ("```\nab = 1\n    cd = 2\n    ef = 3\n```", 20, ["ab = 1\n    cd = 2", "    ef = 3"]),
        # Links and code spans stay whole while they fit.
        ("see it `code that is` x", 16, ["see it", "`code that is` x".replace("`", "")]),
        ("see the [pa ge](e.x) x", 18, ["see the", "pa ge (e.x) x"]),
    ],
)
def test_where_cuts_fall(markdown: str, limit: int, expected: list[str]) -> None:
    assert pieces(markdown, limit) == expected


@pytest.mark.parametrize("cluster", ["🇮🇹", "👩‍👩‍👧‍👦", "👍🏽", "e\u0301", "क्षि"])
@pytest.mark.parametrize("markdown", ["{}", "**{}**", "```\n{}\n```", "> {}"])
def test_clusters_stay_whole(cluster: str, markdown: str) -> None:
    for piece in pieces(markdown.format(cluster * 30), 20):
        text = piece.removeprefix("> ")
        assert text == cluster * text.count(cluster)


def test_a_cluster_across_styles_stays_whole() -> None:
    assert pieces("**" + "e" * 16 + "**\u0301x", 16) == ["e" * 15, "e\u0301x"]


def test_no_break_spaces_hold_words_together() -> None:
    assert pieces("ten words and 10\u00a0km more", 16) == ["ten words and", "10\u00a0km more"]


def test_a_cluster_larger_than_a_piece_is_cut_and_comes_to_an_end() -> None:
    zalgo = "z" + "\u0300" * 50
    found = pieces(f"before {zalgo} after", 16)
    assert "".join(found).replace(" ", "") == f"before{zalgo}after"
    assert max(map(len, found)) == 16


def test_what_is_around_a_node_and_fits_nowhere_is_left_out() -> None:
    assert pieces("> " * 12 + "text", 16) == ["text"]
    assert pieces(f"[x](https://e.x/{'a' * 20})", 16) == ["x", "(https://e.x/aaa", "a" * 16, "a)"]


def test_nothing_fits_comes_to_an_end() -> None:
    assert split(parse("ab"), Layout(PLAIN).text, lambda _: False, 16) == ["a", "b"]


@pytest.mark.parametrize(
    "unit",
    ["word ", "word.\n\n", "- item\n", "> quote\n\n", "`code` ", "```\nx\n```\n", "x", "# h\n\n", "a\n", "**b** "],
)
def test_the_work_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    def work(size: int) -> int:
        done = 0
        layout = Layout(PLAIN)

        def render(blocks: Blocks) -> str:
            nonlocal done
            text = layout.text(blocks)
            done += len(text)
            return text

        split(parse(unit * (size // len(unit))), render, lambda text: len(text) <= 100, 100)
        return done

    assert work(16_000) < 2.5 * work(8_000)


def test_a_limit_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        pieces("text", 15)


def test_a_prefix_ends_between_clusters() -> None:
    assert cluster_prefix("a🇮🇹🇺🇳", lambda text: len(text) <= 4) == "a🇮🇹"
    assert cluster_prefix("", lambda _: True) == ""
