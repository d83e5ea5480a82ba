"""The rehearsed server reads HTML and MarkdownV2 as Telegram does, complaints and byte offsets included."""

from __future__ import annotations

from html import escape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.rehearsal.entities import html, markdown_v2
from channels.telegram.rehearsal.errors import ApiError

B = "🥐 🥐"  # 9 bytes, 5 UTF-16 units
SURROGATE = (
    "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units"
)
RESERVED = "is reserved and must be escaped with the preceding '\\'"


def ent(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.parametrize(
    ("source", "text", "entities"),
    [
        ("", "", []),
        ("&ge;&lt;&gt;&amp;&quot;&laquo;&Or;", '&ge;<>&"&laquo;&Or;', []),
        ("&lt🥐 &#65;&#x42; &#12345678; &", "<🥐 AB &#12345678; &", []),
        (f"{B}<i>{B}</i><b>{B}</b>", B * 3, [ent("italic", 5, 5), ent("bold", 10, 5)]),
        (f"{B}<em>&gt;<strong>a</strong></em>", f"{B}>a", [ent("italic", 5, 2), ent("bold", 6, 1)]),
        ("<u>a</u><ins>b</ins>", "ab", [ent("underline", 0, 1), ent("underline", 1, 1)]),
        ("<s>a</s><strike>b</strike><del>c</del>", "abc", [ent("strikethrough", n, 1) for n in range(3)]),
        ('<span class = "tg-spoiler">a</span>', "a", [ent("spoiler", 0, 1)]),
        ("<tg-spoiler>a</tg-spoiler>", "a", [ent("spoiler", 0, 1)]),
        ("<B>a</b>", "a", [ent("bold", 0, 1)]),
        ("<b></b>a", "a", []),
        ("<i   x  =  190az-.  >a</i  >", "a", [ent("italic", 0, 1)]),
        ("<i>a</>", "a", [ent("italic", 0, 1)]),
        ('<a href="https://example.org/?a=1&amp;b">x</a>', "x", [ent("text_link", 0, 1, url="https://example.org/?a=1&b")]),
        ("<a href=example.org>x</a>", "x", [ent("text_link", 0, 1, url="http://example.org/")]),
        ("<a>example.org</a>", "example.org", [ent("text_link", 0, 11, url="http://example.org/")]),
        ("<a>x</a> <a href='none'>y</a>", "x y", []),
        ("<pre>a<b>b</b></pre>", "ab", [ent("pre", 0, 2)]),
        ('<pre><code class="language-py">a</code></pre>', "a", [ent("pre", 0, 1, language="py")]),
        ('<code class="language-py">a</code>', "a", [ent("code", 0, 1)]),
        ("<blockquote>a<b>b</b></blockquote>", "ab", [ent("blockquote", 0, 2), ent("bold", 1, 1)]),
        ("<blockquote expandable>a</blockquote>", "a", [ent("expandable_blockquote", 0, 1)]),
        ('<tg-emoji emoji-id="123">🥐</tg-emoji>', "🥐", [ent("custom_emoji", 0, 2, custom_emoji_id="123")]),
    ],
)  # fmt: skip
def test_html_becomes_text_and_entities(source, text, entities):
    assert html.parse(source) == (text, entities)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (f"{B}&lt;<bread", "Unclosed start tag at byte offset 13"),
        (f"{B}&lt;<bread and>", 'Unsupported start tag "bread" at byte offset 13'),
        ("a < b", 'Unsupported start tag "" at byte offset 2'),
        ("a <b and c>", 'Can\'t find end tag corresponding to start tag "b"'),
        ("a <br/>", 'Unsupported start tag "br/" at byte offset 2'),
        ("<!-- a -->", 'Unsupported start tag "!--" at byte offset 0'),
        (f"{B}<i   =a>", 'Empty attribute name in the tag "i" at byte offset 9'),
        ("<i a>", 'Can\'t find end tag corresponding to start tag "i"'),
        (f"{B}<i  a  = ", 'Unclosed start tag "i" at byte offset 9'),
        ("<a href=https://example.org>x</a>", "Unexpected end of name token at byte offset 8"),
        (f'{B}<i a="&lt;>', "Unclosed start tag at byte offset 9"),
        (f"{B}</", "Unexpected end tag at byte offset 9"),
        ("<b></b></b>", "Unexpected end tag at byte offset 7"),
        (f"{B}<i>a</i   ", "Unclosed end tag at byte offset 13"),
        (f"{B}<i>a</em>", 'Unmatched end tag at byte offset 13, expected "</i>", found "</em>"'),
        ("<span>a</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
        ("&#xDFDF;", SURROGATE),
    ],
)  # fmt: skip
def test_html_is_refused_in_telegrams_words(source, complaint):
    with pytest.raises(ApiError) as refused:
        html.parse(source)
    assert refused.value.code == 400
    assert refused.value.description == f"Bad Request: can't parse entities: {complaint}"


@pytest.mark.parametrize(
    ("source", "text", "entities"),
    [
        ("", "", []),
        ("\\\\\\_\\*\\`\\.\\a\\🥐\\", "\\_*`.a\\🥐\\", []),
        (f"{B}_a \\* b _", f"{B}a * b ", [ent("italic", 5, 6)]),
        (f"_{B}_*{B}*", B * 2, [ent("italic", 0, 5), ent("bold", 5, 5)]),
        ("__a__~b~||c||", "abc", [ent("underline", 0, 1), ent("strikethrough", 1, 1), ent("spoiler", 2, 1)]),
        (f"{B}_🥐 __🥐___", f"{B}🥐 🥐", [ent("italic", 5, 5), ent("underline", 8, 2)]),
        (f"{B}__🥐 _🥐_ __", f"{B}🥐 🥐 ", [ent("underline", 5, 6), ent("italic", 8, 2)]),
        ("``____**``````", "", []),
        ("`_* *_`", "_* *_", [ent("code", 0, 5)]),
        ("`a\\`b`", "a`b", [ent("code", 0, 3)]),
        ("```py\na = 1\n```", "a = 1\n", [ent("pre", 0, 6, language="py")]),
        ("```py a```", " a", [ent("pre", 0, 2, language="py")]),
        ("```\na\n```", "a\n", [ent("pre", 0, 2)]),
        ("[example\\.org]", "example.org", [ent("text_link", 0, 11, url="http://example.org/")]),
        ("[a](example.org)", "a", [ent("text_link", 0, 1, url="http://example.org/")]),
        ("[a](https://example.org?\\\\\\()", "a", [ent("text_link", 0, 1, url="https://example.org/?\\(")]),
        ("[*a*](example.org)", "a", [ent("bold", 0, 1), ent("text_link", 0, 1, url="http://example.org/")]),
        ("[a]()[b](none)[](example.org)", "ab", []),
        ("![🥐](tg://emoji?id=123)", "🥐", [ent("custom_emoji", 0, 2, custom_emoji_id="123")]),
        (">a", "a", [ent("blockquote", 0, 1)]),
        (">", "", []),
        (">\n1", "\n1", [ent("blockquote", 0, 1)]),
        ("a\n>b\n>c\nd", "a\nb\nc\nd", [ent("blockquote", 2, 4)]),
        (">a\n**>b", "a\nb", [ent("blockquote", 0, 2), ent("blockquote", 2, 1)]),
        (">*b\n>c*\nd", "b\nc\nd", [ent("blockquote", 0, 4), ent("bold", 0, 3)]),
        ("*a\n>b\nc*", "a\nb\nc", [ent("bold", 0, 5), ent("blockquote", 2, 2)]),
        ("`>a\n>b`", ">a\n>b", [ent("code", 0, 5)]),
        (">a||b||c||\nd", "abc\nd", [ent("expandable_blockquote", 0, 4), ent("spoiler", 1, 1)]),
        (">a||b||\nd", "ab\nd", [ent("blockquote", 0, 3), ent("spoiler", 1, 1)]),
    ],
)  # fmt: skip
def test_markdown_becomes_text_and_entities(source, text, entities):
    found, marked = markdown_v2.parse(source)
    assert found == text
    assert sorted(marked, key=str) == sorted(entities, key=str)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (f"{B}_bread", "Can't find end of Italic entity at byte offset 9"),
        (f"{B}_abac * asd ", "Can't find end of Bold entity at byte offset 15"),
        (f"{B}_abac * asd _", "Can't find end of Italic entity at byte offset 21"),
        (f"{B}`", "Can't find end of Code entity at byte offset 9"),
        (f"{B}```a", "Can't find end of Pre entity at byte offset 9"),
        (f"{B}```a ", "Can't find end of PreCode entity at byte offset 9"),
        (f"{B}```🥐 🥐`", "Can't find end of Code entity at byte offset 21"),
        (f"{B}```🥐 🥐_", "Can't find end of PreCode entity at byte offset 9"),
        (f"{B}__{B}_", "Can't find end of Italic entity at byte offset 20"),
        (f"{B}_{B}__", "Can't find end of Underline entity at byte offset 19"),
        (f"{B}__🥐 _🥐___", "Can't find end of Italic entity at byte offset 23"),
        (f"{B}||a\\|", "Can't find end of Spoiler entity at byte offset 9"),
        ("[a\\.b](", "Can't find end of a URL at byte offset 7"),
        ("[a\\.b](c\\)", "Can't find end of a URL at byte offset 7"),
        (f"{B}![🥐", "Can't find end of CustomEmoji entity at byte offset 9"),
        (f"{B}![🥐]", "Custom emoji entity must contain a tg://emoji URL"),
        (f"{B}![🥐](tg://emoji?id=1", "Can't find end of a custom emoji URL at byte offset 17"),
        ("![🥐](tg://emoji#id=1)", "Custom emoji URL must have an emoji identifier"),
        (">*b\n>c\nd*", "Can't find end of Bold entity at byte offset 1"),
        (">asd\n>q||ew\n||asdad", "Can't find end of Spoiler entity at byte offset 7"),
        (">\n*a*>2", f"Character '>' {RESERVED}"),
        *((f"{B}{char}", f"Character '{char}' {RESERVED}") for char in "]()>#+-=|{}.!"),
    ],
)  # fmt: skip
def test_markdown_is_refused_in_telegrams_words(source, complaint):
    with pytest.raises(ApiError) as refused:
        markdown_v2.parse(source)
    assert refused.value.description == f"Bad Request: can't parse entities: {complaint}"


@given(source=st.text(st.sampled_from("ab <>/&;\"'=_*[]()~`|!\\\n🥐") | st.characters(codec="utf-8"), max_size=30))
@pytest.mark.parametrize("parse", [html.parse, markdown_v2.parse])
def test_any_source_is_text_with_entities_inside_it_or_a_complaint(parse, source):
    try:
        text, entities = parse(source)
    except ApiError:
        return
    end = len(text.encode("utf-16-le")) // 2
    assert all(0 <= e["offset"] < e["offset"] + e["length"] <= end for e in entities)


@given(text=st.text(max_size=30))
def test_an_escaped_text_comes_back(text):
    assert html.parse(f"<b>{escape(text)}</b>")[0] == text
    assert markdown_v2.parse("".join(f"\\{c}" if 0 < ord(c) < 127 else c for c in text))[0] == text
