"""Markdown as a tree."""

from __future__ import annotations

import pytest

from channels.markdown.parse import parse
from channels.markdown.rules import DEPTH
from channels.markdown.tree import (
    Block,
    Blocks,
    CodeBlock,
    Heading,
    Item,
    ListBlock,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
    texts,
)
from tests.channels.markdown.strategies import NASTY


def text(*spans: Span | str) -> Paragraph:
    return Paragraph(tuple(Span(span) if isinstance(span, str) else span for span in spans))


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("a\nb  \nc\\\nd", text("a\nb\nc\nd")),
        ("***a*** **b *c***", text(Span("a", True, True), " ", Span("b ", True), Span("c", True, True))),
        ("~~a~~ `b`", text(Span("a", strike=True), " ", Span("b", code=True))),
        ("## a **b**", Heading((Span("a "), Span("b", bold=True)))),
        ("```py\na\n\nb\n```", CodeBlock("a\n\nb", "py")),
        ('~~~py title="x.py"\na\n~~~', CodeBlock("a", "py")),
        ("```some words\na\n```", CodeBlock("some words\na")),
        ("    a\n    b", CodeBlock("a\nb")),
        ("> a\n> > b", Quote((text("a"), Quote((text("b"),))))),
        ("- a\n- b", ListBlock((Item((text("a"),)), Item((text("b"),))))),
        ("- a\n\n- b", ListBlock((Item((text("a"),)), Item((text("b"),))), tight=False)),
        ("7) a\n8) b", ListBlock((Item((text("a"),), "7)"), Item((text("b"),), "8)")))),
        ("- [ ] a\n- [X] b", ListBlock((Item((text("a"),), done=False), Item((text("b"),), done=True)))),
        ("- \\[x] a", ListBlock((Item((text("[x] a"),)),))),
        ("---", Rule()),
        ("42.", ListBlock((Item((), "42."),))),
        ("<b>*a*</b>", text("<b>", Span("a", italic=True), "</b>")),
    ],
)
def test_each_construct(markdown: str, expected: Block) -> None:
    assert parse(markdown) == (expected,)


@pytest.mark.parametrize(
    ("markdown", "shown", "url"),
    [
        ("[a](https://e.x)", "a", "https://e.x"),
        ('[a](https://e.x "title")', "a", "https://e.x"),
        ("[a](https://e.x/(b))", "a", "https://e.x/(b)"),
        ("[a](<https://e.x/b c>)", "a", "https://e.x/b%20c"),
        ("[a](javascript:alert)", "a", "javascript:alert"),
        ("![a](https://e.x/i.png)", "a", "https://e.x/i.png"),
        ("![](https://e.x/i.png)", "https://e.x/i.png", "https://e.x/i.png"),
        ("[![a](https://e.x/i.png)](https://e.x)", "a", "https://e.x"),
        ("[](https://e.x)", "https://e.x", "https://e.x"),
        ("<https://e.x/_a_>", "https://e.x/_a_", "https://e.x/_a_"),
        ("<ann@e.x>", "ann@e.x", "mailto:ann@e.x"),
        ("https://e.x/_a_/*b*/~~", "https://e.x/_a_/*b*/", "https://e.x/_a_/*b*/"),
        ("https://e.x/?a=1&amp;b=2", "https://e.x/?a=1&b=2", "https://e.x/?a=1&b=2"),
        ("(https://e.x/a_(b)).", "https://e.x/a_(b)", "https://e.x/a_(b)"),
        ("**https://e.x/a**", "https://e.x/a", "https://e.x/a"),
        ("[a][1]\n\n[1]: https://e.x", "a", "https://e.x"),
    ],
)
def test_links(markdown: str, shown: str, url: str) -> None:
    (paragraph,) = parse(markdown)
    assert isinstance(paragraph, Paragraph)
    assert [(span.text, span.url) for span in paragraph.spans if span.url] == [(shown, url)]


@pytest.mark.parametrize("markdown", ["xhttps://e.x", "https://", "`https://e.x`", "\\https://e.x"])
def test_what_only_looks_like_an_address_is_text(markdown: str) -> None:
    (paragraph,) = parse(markdown)
    assert isinstance(paragraph, Paragraph)
    assert not any(span.url for span in paragraph.spans)


@pytest.mark.parametrize("markdown", ["2*3*4", "a = x**2 + y**2", "snake_case_name", "5 * 3 * 2", "a*b and c*d"])
def test_arithmetic_and_names_are_not_emphasis(markdown: str) -> None:
    assert parse(markdown) == (text(markdown),)


def test_emphasis_inside_words_still_is_where_it_is_meant() -> None:
    assert parse("**S**imple 中文**粗体**") == (text(Span("S", bold=True), "imple 中文", Span("粗体", bold=True)),)


@pytest.mark.parametrize(
    "markdown",
    ["[Ann]: hello there", "[1]: https://e.x/unused", "|a|\n|-|\n|b|c|", "text\n\n[x]: <https://e.x> 'title'"],
)
def test_what_markdown_would_swallow_is_kept(markdown: str) -> None:
    assert "\n\n".join(texts(parse(markdown))) == markdown


def test_a_definition_that_is_used_is_not_shown() -> None:
    assert "".join(texts(parse("see [the page][p]\n\n[p]: https://e.x"))) == "see the page"


def test_a_short_row_is_filled_up() -> None:
    assert parse("|a|b|\n|-|-|\n|c|") == (Table(((Span("a"),), (Span("b"),)), (((Span("c"),), ()),)),)


def depth(blocks: Blocks) -> int:
    below = [
        depth(block.blocks) if isinstance(block, Quote) else depth(block.items[0].blocks)
        for block in blocks
        if isinstance(block, Quote | ListBlock)
    ]
    return 1 + max(below) if below else 0


@pytest.mark.parametrize("name", ["deep quotes", "deep lists", "deep indented lists"])
def test_deep_nesting_ends_as_text(name: str) -> None:
    tree = parse(NASTY[name])
    assert depth(tree) <= DEPTH
    assert "".join(texts(tree)).count("deep" if "deep" in NASTY[name] else "item") == max(NASTY[name].count("item"), 1)


@pytest.mark.parametrize(
    ("markdown", "clean"),
    [
        ("a\x00b\x1bc\x7fd", "abcd"),
        ("a\ud800b", "ab"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\u2028b", "a\nb"),
        ("&#27;&#x9f;a&#xD800;", "��a�"),
        ("\u200fa\u202e", "\u200fa\u202e"),
    ],
)
def test_control_characters_and_surrogates(markdown: str, clean: str) -> None:
    assert parse(markdown) == (text(clean),)


@pytest.mark.parametrize("markdown", ["", " \n\t", "#", ">", "> >\n>", "```\n \n```", "[](<>)", "\x00"])
def test_nothing_to_see_is_an_empty_tree(markdown: str) -> None:
    assert parse(markdown) == ()
