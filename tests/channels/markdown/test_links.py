"""What may be a link, and what misleads."""

from __future__ import annotations

import pytest

from channels.markdown.links import URL_MAX, linkable, misleads, says, settle_links, spell_links
from channels.markdown.tree import Span

SCHEMES = frozenset({"http", "https", "mailto"})


@pytest.mark.parametrize("url", ["https://e.x", "HTTP://e.x/a", "mailto:ann@e.x"])
def test_linkable(url: str) -> None:
    assert linkable(url, SCHEMES)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript://e.x/%0aalert(1)",
        "data:text/html,x",
        "tg://user?id=1",
        "https:",
        "https:///path",
        "/relative",
        "//e.x/no-scheme",
        "#anchor",
        "http://[broken",
        "https://e.x/" + "a" * URL_MAX,
    ],
)
def test_not_linkable(url: str) -> None:
    assert not linkable(url, SCHEMES)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://good.com", "https://evil.com"),
        ("see https://good.com/a now", "https://evil.com"),
        ("good.com", "https://evil.com"),
        ("www.good.com", "https://good.com.evil.com"),
        ("good.md", "https://evil.com"),
        ("good.com/login.html", "https://evil.com"),
        ("good.com.html", "https://evil.com"),
        ("good.com/login", "https://good.com@evil.com/login"),
        ("good。com", "https://evil.com"),
        ("go\u200bod.com", "https://evil.com"),
        ("ann@good.com", "mailto:ann@evil.com"),
        ("https://good.com", "mailto:ann@evil.com"),
        ("https://good.com", "/relative"),
        ("https://good.com:80@evil.com", "https://good.com"),
    ],
)
def test_misleading(text: str, url: str) -> None:
    assert misleads(text, url)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("the page", "https://e.x"),
        ("e.x", "https://www.e.x/page"),
        ("https://E.X/a", "https://e.x/b"),
        ("пример.рф", "https://xn--e1afmkfd.xn--p1ai/"),
        ("ann@e.x", "mailto:ann@e.x?subject=hi"),
        ("Node.js", "https://nodejs.org"),
        ("plan.PDF", "https://e.x/files/1"),
        ("v1.2.3", "https://e.x/releases"),
        ("it. works", "https://e.x"),
    ],
)
def test_honest(text: str, url: str) -> None:
    assert not misleads(text, url)


@pytest.mark.parametrize(
    ("text", "url", "expected"),
    [
        ("https://e.x", "https://e.x/", True),
        ("e.x/a", "https://e.x/a", True),
        ("ann@e.x", "mailto:ann@e.x", True),
        ("https://e.x/ü", "https://e.x/%C3%BC", True),
        ("https://пример.рф", "https://xn--e1afmkfd.xn--p1ai", True),
        ("here", "https://e.x", False),
    ],
)
def test_says(text: str, url: str, expected: bool) -> None:
    assert says(text, url) is expected


def test_settled_links_keep_their_styles_and_say_where_they_lead() -> None:
    spans = (
        Span("a", bold=True, url="ftp://e.x"),
        Span("b", url="https://e.x"),
        Span("good.com", url="https://evil.com"),
    )
    assert settle_links(spans, SCHEMES) == (
        Span("a", bold=True),
        Span(" (ftp://e.x)"),
        Span("b", url="https://e.x"),
        Span("good.com"),
        Span(" ("),
        Span("https://evil.com", url="https://evil.com"),
        Span(")"),
    )


def test_spelled_links_stay_one_run() -> None:
    spans = (Span("a", bold=True, url="https://e.x"), Span("b", url="https://e.x"), Span("."))
    assert spell_links(spans) == (*spans[:2], Span(" (https://e.x)", url="https://e.x"), Span("."))
