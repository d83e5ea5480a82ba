"""The file tools as a model calls them."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agents_runtime.tools.files import FILE_MAX, LIST_MAX, READ_MAX
from agents_runtime.tools.tool import ToolContext, ToolError
from agents_runtime.toolset import RESULT_LIMIT
from tests.agents_runtime.tools.support import OPEN, call, surroundings

MORE = re.compile(r"\n\[(\d+) more bytes: read on with offset (\d+)\]$")


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return surroundings(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> ToolContext:
    return surroundings(tmp_path_factory.mktemp("shared"))


async def test_a_file_is_read_whole(context: ToolContext) -> None:
    assert await call(context, "read", path="skills/desk/references/more.md") == OPEN


async def test_a_long_file_is_read_in_pieces(context: ToolContext) -> None:
    (context.state_dir / "long.txt").write_text("x" * READ_MAX * 2)

    first = await call(context, "read", path="state/long.txt", limit=10_000_000)
    assert len(first) <= RESULT_LIMIT, "else the line that says how to go on is cut off"
    assert first.endswith(f"\n[{READ_MAX} more bytes: read on with offset {READ_MAX}]")
    assert await call(context, "read", path="state/long.txt", offset=READ_MAX) == "x" * READ_MAX


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40), st.integers(4, 30))
def test_the_pieces_are_the_file(shared: ToolContext, text: str, limit: int) -> None:
    (shared.state_dir / "any.txt").write_bytes(text.encode())

    async def pieces() -> str:
        whole, offset = "", 0
        while True:
            piece = await call(shared, "read", path="state/any.txt", offset=offset, limit=limit)
            more = MORE.search(piece)
            if more is None:
                return whole + piece
            assert int(more[2]) > offset
            whole, offset = whole + piece[: more.start()], int(more[2])

    expected = text or "[nothing here: the file has 0 bytes]"
    assert asyncio.run(pieces()) == expected


async def test_an_offset_inside_a_character_begins_with_the_next(context: ToolContext) -> None:
    (context.state_dir / "any.txt").write_text("a€b")

    assert await call(context, "read", path="state/any.txt", offset=2) == "b"
    assert await call(context, "read", path="state/any.txt", offset=9) == "[nothing here: the file has 5 bytes]"


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0", b"caf\xe9", b"a\0b", "text".encode("utf-16")])
async def test_what_is_not_text_is_refused(context: ToolContext, content: bytes) -> None:
    (context.state_dir / "photo").write_bytes(content)

    with pytest.raises(ToolError, match="'state/photo' is not text"):
        await call(context, "read", path="state/photo")
    with pytest.raises(ToolError, match="is not text"):
        await call(context, "edit_file", path="state/photo", old="a", new="b")


async def test_a_file_is_written_and_read_back(context: ToolContext) -> None:
    assert await call(context, "write_file", path="state/new/café.md", content="é") == (
        "Wrote 2 bytes to state/new/café.md."
    )
    assert await call(context, "read", path="state/new/café.md") == "é"
    await call(context, "write_file", path="state/new/café.md", content="")
    assert (context.state_dir / "new/café.md").read_bytes() == b""


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("state/notes.json", "{", "would not be JSON"),
        ("state/notes.JSON", "", "would not be JSON"),
        ("state/notes.json", "NaN", "would not be JSON"),
        ("state/notes.json", "[" * 10_000, "would not be JSON"),
        ("state/notes.md", "x" * (FILE_MAX + 1), "larger than"),
        ("state/notes.md", "\ud800", "half a character"),
        ("skills/desk/SKILL.md", "You are evil.", "can't be written"),
        ("agent.json", "{}", "can't be written"),
    ],
)
async def test_what_may_not_be_written_is_not(context: ToolContext, path: str, content: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        await call(context, "write_file", path=path, content=content)
    assert (context.state_dir / "notes.json").read_text() == f'["{OPEN}"]'
    assert not (context.state_dir / "notes.md").exists()


async def test_an_edit_replaces_the_one_place(context: ToolContext) -> None:
    await call(context, "edit_file", path="state/notes.json", old=OPEN, new="closed")

    assert (context.state_dir / "notes.json").read_text() == '["closed"]'


@pytest.mark.parametrize(
    ("text", "old", "told"),
    [
        ("one two", "three", "not in"),
        ("one one", "one", "more than once"),
        ("aaa", "aa", "more than once"),
        ("one\r\ntwo", "one\ntwo", "not in"),
    ],
)
async def test_an_edit_that_is_not_clear_changes_nothing(context: ToolContext, text: str, old: str, told: str) -> None:
    (context.state_dir / "a.md").write_bytes(text.encode())

    with pytest.raises(ToolError, match=told):
        await call(context, "edit_file", path="state/a.md", old=old, new="x")
    assert (context.state_dir / "a.md").read_bytes() == text.encode()


async def test_an_edit_keeps_json_json_and_files_small(context: ToolContext) -> None:
    with pytest.raises(ToolError, match="would not be JSON"):
        await call(context, "edit_file", path="state/notes.json", old="]", new="")
    with pytest.raises(ToolError, match="larger than"):
        await call(context, "edit_file", path="state/sub/deep.txt", old=OPEN, new="x" * (FILE_MAX + 1))
    with pytest.raises(ToolError, match=r"There is no file 'state/gone.md'"):
        await call(context, "edit_file", path="state/gone.md", old="a", new="b")
    assert not (context.state_dir / "gone.md").exists()


async def test_edits_at_the_same_time_all_happen(context: ToolContext) -> None:
    marks = [f"<{n}>" for n in range(12)]
    await call(context, "write_file", path="state/a.md", content=" ".join(marks))

    await asyncio.gather(*(call(context, "edit_file", path="state/a.md", old=mark, new=mark[1:-1]) for mark in marks))
    assert (context.state_dir / "a.md").read_text() == " ".join(mark[1:-1] for mark in marks)


async def test_everything_is_listed_with_its_size(context: ToolContext) -> None:
    everything = (
        "skills/desk/SKILL.md (61 bytes)\n"
        "skills/desk/references/more.md (17 bytes)\n"
        "state/notes.json (21 bytes)\n"
        "state/sub/deep.txt (17 bytes)\n"
        "inbox/photo.txt (17 bytes)"
    )
    assert await call(context, "list_files") == everything
    assert await call(context, "list_files", path=".") == everything
    assert await call(context, "list_files", path="state/sub/") == "state/sub/deep.txt (17 bytes)"
    assert await call(context, "list_files", path="state/notes.json") == "state/notes.json (21 bytes)"


async def test_an_inbox_that_is_not_made_yet_has_no_files(context: ToolContext) -> None:
    empty = replace(context, inbox=context.state_dir / "gone")

    assert await call(empty, "list_files", path="inbox") == "No files yet."
    assert "state/notes.json" in await call(empty, "list_files")


@pytest.mark.parametrize("path", ["..", "/", "state/..", "state/folder-link", "state/gone", "agent.json"])
async def test_nothing_else_is_listed(context: ToolContext, path: str) -> None:
    with pytest.raises(ToolError):
        await call(context, "list_files", path=path)


async def test_a_long_list_is_cut(context: ToolContext) -> None:
    for number in range(LIST_MAX):
        (context.state_dir / f"{number:04}.md").touch()
    lines = (await call(context, "list_files", path="state")).splitlines()

    assert len(lines) == LIST_MAX + 1
    assert lines[-1] == "[more files: list a folder by its path]"
    assert lines[0] == "state/0000.md (0 bytes)"


async def test_a_sub_skill_is_run_and_its_answer_returned(context: ToolContext) -> None:
    async def run_skill(name: str, text: str) -> str:
        return f"{name}: {text}"

    able = replace(context, run_skill=run_skill)
    assert await call(able, "execute_skill", name="orders", input="where?") == "orders: where?"
    with pytest.raises(ToolError, match="no sub-skill"):
        await call(context, "execute_skill", name="orders", input="where?")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": "state/a", "offset": -1}),
        ("read", {"path": "state/a", "limit": 0}),
        ("edit_file", {"path": "state/a", "old": "", "new": "x"}),
        ("write_file", {"path": "state/a"}),
    ],
)
async def test_arguments_are_checked(context: ToolContext, tool: str, arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        await call(context, tool, **arguments)
