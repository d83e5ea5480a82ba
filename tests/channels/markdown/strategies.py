"""Markdown to try things on: random text, structured replies, and inputs that have broken other converters."""

from __future__ import annotations

from hypothesis import strategies as st

CLUSTERS = ["🇮🇹", "🇺🇳", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "é", "e\u0301", "ก็", "한", "ę̀", "𝒳", "日", "\u200fא", "क्षि"]

WORDS = st.one_of(
    st.sampled_from(
        [
            "hello", "Opening", "hours", "2*3*4", "snake_case_name", "a<b", "c>d", "R&D", "don't", "“quoted”", "x",
            "10:30", "<!channel>", "<@U123>", "*lonely", "under_", "~5", "`tick", "[1]", "a|b", "www.example.org",
            "https://example.com/a_b_(c)", "!", "—", "…", "end.", "Really?", "C:\\dir", "\\*", "&amp;", "<b>", "#1",
            "-", "1.", "_x_",
        ]
    ),
    st.sampled_from(CLUSTERS),
    st.lists(st.sampled_from(CLUSTERS), min_size=2, max_size=6).map("".join),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), min_size=1, max_size=8),
)  # fmt: skip

URLS = st.sampled_from(
    [
        "https://example.com",
        "http://example.com/a(b)c?x=1&y=2#z",
        "https://example.com/_under_/*star*/~tilde~",
        "mailto:ann@example.com",
        "tg://user?id=1",
        "javascript:alert(1)",
        "/relative/path.md",
        "https://evil.example/|pipe",
    ]
)

SENTENCES = st.lists(WORDS, min_size=1, max_size=25).map(" ".join)


def _inline() -> st.SearchStrategy[str]:
    plain = SENTENCES
    styled = st.builds(lambda mark, text: f"{mark}{text}{mark}", st.sampled_from(["**", "*", "_", "~~", "***"]), plain)
    code = SENTENCES.map(lambda text: f"``{text.replace('`', '')} ``")
    link = st.builds(lambda text, url: f"[{text}]({url})", plain | styled, URLS)
    image = st.builds(lambda text, url: f"![{text}](<{url}>)", plain, URLS)
    # Not an address that a link beside it may have: two neighbours with one address are one link.
    auto = st.sampled_from(["<https://auto.example/_a_>", "<http://auto.example/(b)>", "<ann@auto.example>"])
    return st.lists(st.one_of(plain, styled, code, link, image, auto), min_size=1, max_size=6).flatmap(
        lambda parts: st.sampled_from([" ", "", "  \n", "\n"]).map(lambda gap: gap.join(parts))
    )


INLINE = _inline()


def _fence(language: str, lines: list[str]) -> str:
    return "\n".join([f"````{language}", *lines, "````"])


CODE = st.builds(
    _fence,
    st.sampled_from(["", "python", "c++", "objective-c", "a title here"]),
    st.lists(SENTENCES | st.sampled_from(["", "    indented", "```", "<!here>", "a < b && c > d", "\tx"]), max_size=12),
)  # fmt: skip

TABLE = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(SENTENCES.map(lambda text: text.replace("|", "").replace("\n", " ")[:40]), min_size=1, max_size=width),
        min_size=1,
        max_size=5,
    ).map(
        lambda rows: "\n".join(
            [
                "| " + " | ".join(["head"] * width) + " |",
                "|" + "---|" * width,
                *("| " + " | ".join(r) + " |" for r in rows),
            ]
        )
    )
)


def _indented(text: str, first: str, rest: str) -> str:
    head, *tail = text.split("\n")
    return "\n".join([first + head, *(rest + line if line else line for line in tail)])


def _containers(blocks: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inner = st.lists(blocks, min_size=1, max_size=3).map("\n\n".join)
    quote = inner.map(lambda text: _indented(text, "> ", "> "))
    bullets = st.lists(inner, min_size=1, max_size=4).map(
        lambda items: "\n".join(_indented(item, "- ", "  ") for item in items)
    )
    numbers = st.lists(inner, min_size=1, max_size=4).map(
        lambda items: "\n".join(_indented(item, f"{n}. ", "   ") for n, item in enumerate(items, 7))
    )
    tasks = st.lists(INLINE, min_size=1, max_size=3).map(
        lambda items: "\n".join(_indented(item, "- [x] ", "  ") for item in items)
    )
    return st.one_of(quote, bullets, numbers, tasks)


BLOCKS = st.recursive(
    st.one_of(
        INLINE,
        st.builds(lambda level, text: "#" * level + " " + text.replace("\n", " "), st.integers(1, 6), INLINE),
        CODE,
        TABLE,
        st.just("---"),
    ),
    _containers,
    max_leaves=8,
)

STRUCTURED = st.lists(BLOCKS, min_size=1, max_size=6).map("\n\n".join)

ALPHABET = st.one_of(
    st.sampled_from(list("*_~`[]()<>#-+.!|\\&:/\n \t0123aé\u0301\u200d\u200f\u00a0") + CLUSTERS),
    st.characters(codec="utf-8"),
)
RANDOM = st.lists(ALPHABET, max_size=120).map("".join)

MARKDOWN = st.one_of(STRUCTURED, RANDOM)

NASTY = {
    "unclosed fence": "before\n```py\nx = 1\n",
    "fence in fence": "````md\n```py\nx\n```\n````",
    "unbalanced fences": "```\na\n```\n```\nb",
    "comparison": "a<b but c>d && e<f",
    "script": "<script>alert('x')</script>",
    "html block": "<div>\n**bold**\n</div>\n\n<!-- comment -->",
    "deep quotes": ">" * 200 + " deep",
    "deep lists": "- " * 200 + "deep",
    "deep indented lists": "".join("  " * depth + "- item\n" for depth in range(200)),
    "deep emphasis": "*a **b " * 200 + "c** d*" * 200,
    "deep brackets": "[" * 2000 + "x" + "](http://e.x)" * 200,
    "deep images": "![a" * 300 + "](http://e.x)" * 300,
    "nul": "a\x00b\x1b[31mc",
    "lone surrogates": "a\ud800b\udfffc",
    "right to left": "שלום \u200f*עולם*\u200f \u202eabc\u202c",
    "zalgo": "z" + "\u0300\u0301\u0302" * 2000 + " tail",
    "one long word": "x" * 9000,
    "one long url": "https://example.com/" + "a" * 9000,
    "long link text": f"[{'word ' * 2000}](https://example.com)",
    "long link address": f"[here](https://example.com/{'a' * 9000})",
    "long code line": "```\n" + "y" * 9000 + "\n```",
    "long inline code": f"`{'code ' * 2000}`",
    "many entities": "**b** *i* `c` " * 300,
    "many links": "[x](https://example.com/some/long/path?with=query) " * 200,
    "speech": "[Ann]: hello\n\n[Bob]: hi",
    "unused reference": "text\n\n[1]: https://example.com/source",
    "used reference": "see [the source][1]\n\n[1]: https://example.com/source",
    "ragged table": "|a|b|\n|-|-|\n|1|2|3|\n|4|",
    "wide table": "|a|b|\n|-|-|\n" + f"|{'wide ' * 400}|x|\n" * 5,
    "number": "42.",
    "bare bullet": "-",
    "nested empty item": "- a\n  - \n  - b",
    "setext": "Heading\n===\n\nOther\n---",
    "hard breaks": "a  \nb\\\nc",
    "escapes": "\\*a\\* \\_b\\_ \\# c \\[d\\]\\(e\\) \\\\ \\`f\\`",
    "escaped line starts": "\\# a\n\n\\- b\n\n1\\. c\n\n\\> d\n\n\\+ e",
    "entities": "&lt;b&gt; &amp;amp; &#42;x&#42; &nbsp; &#0; &#13;&#10;x",
    "brackets in url": "[a](http://e.x/(b)) [c](<http://e.x/d e>) [f](http://e.x/%28)",
    "link in heading in list": "- # [a **b**](http://e.x)\n  text",
    "bold across a link": "**see [the page](http://e.x) now** and *a **b** c*",
    "punctuated bold": "**\"quoted\"** and a**\"b\"**c",
    "code with ticks": "`` a`b `` and ``` `` ``` and `` `x` ``",
    "info without language": "```just some words\ncode\n```",
}  # fmt: skip
"""Inputs by what is nasty about them."""
