"""Frontmatter: read however it was saved, and told by line where it is broken."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agents_runtime.frontmatter import FrontmatterError, split

PLAIN = "---\nname: desk\ndescription: The desk.\n---\n\n# Desk\n\nAnswer.\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\ufeff" + PLAIN,
        "\n\n" + PLAIN,
        PLAIN.replace("---\n", "---  \n"),
    ],
)
def test_it_reads_a_file_however_it_was_saved(text: str) -> None:
    document = split(text)

    assert document.fields == {"name": "desk", "description": "The desk."}
    assert document.body == "# Desk\n\nAnswer."


@pytest.mark.parametrize("text", ["Just Markdown.", "# Title\n---\nname: x\n---", ""])
def test_a_file_without_frontmatter_is_all_body(text: str) -> None:
    document = split(text)

    assert (document.fields, document.body) == ({}, text)


def test_a_rule_in_the_body_is_part_of_it() -> None:
    assert split("---\nname: x\n---\nOne\n\n---\n\nTwo").body == "One\n\n---\n\nTwo"


def test_empty_frontmatter_has_no_fields() -> None:
    assert split("---\n---\nBody").fields == {}


def test_every_scalar_is_text_as_it_was_written() -> None:
    fields = split("---\ndescription: 2024-13-45\nname: yes\nversion: 1.10\nallowed-tools: [read, 7]\n---\nx").fields

    assert fields == {
        "description": "2024-13-45",
        "name": "yes",
        "version": "1.10",
        "allowed-tools": ["read", "7"],
    }


def test_a_colon_in_a_value_without_quotes_is_let_pass() -> None:
    text = "---\nname: desk\ndescription: Use it for orders: where they are, and the shop's hours.\n---\nx"

    assert split(text).fields["description"] == "Use it for orders: where they are, and the shop's hours."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\nname: desk\ndescription: The desk.\n\nAnswer.", 5),
        ("---\nname: desk\ndescription: [a, b\n---\nx", 3),
        ('---\nname: desk\nlicense: MIT\ndescription: "The desk\n---\nx', 4),
        ("\n\n---\nname: desk\n\tdescription: x\n---\nx", 5),
        ("---\n- one\n- two\n---\nx", 2),
        ("---\njust words\n---\nx", 2),
        (f"---\nmetadata: {'[' * 5000}\n---\nx", 2),
        ("---\nname: a\x00b\n---\nx", 2),
        ("---\nmetadata: *nobody\n---\nx", 2),
        ("---\n[a]: b\n---\nx", 2),
    ],
)
def test_broken_frontmatter_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(FrontmatterError) as caught:
        split(text)

    assert caught.value.line == line
    assert str(caught.value)


def test_nothing_in_it_is_made_to_run() -> None:
    assert split("---\nname: !!python/object/apply:os.getcwd []\n---\nx").fields == {"name": []}


@given(st.text(max_size=200) | st.text("-:\n\r \t[]{}'\"&*!|>#%@`abc\ufeff", max_size=80).map("---\n{}\n---\nx".format))
def test_any_text_is_read_or_refused_with_a_line_in_it(text: str) -> None:
    try:
        split(text)
    except FrontmatterError as error:
        assert 1 <= error.line <= text.count("\n") + text.count("\r") + 2


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=30)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,9}", fullmatch=True), words, min_size=1), words)
def test_what_is_written_properly_comes_back(fields: dict[str, str], body: str) -> None:
    written = yaml.safe_dump(fields, allow_unicode=True, default_style='"')
    document = split(f"---\n{written}---\n{body}")

    assert document.fields == fields
    assert document.body == body.strip()
