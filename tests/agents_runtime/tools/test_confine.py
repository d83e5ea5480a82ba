"""Confinement: whatever path an agent thinks of, it reads its own three folders and writes one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents_runtime.tools import confine
from agents_runtime.tools.confine import UNFINISHED, matches, opened, readable, rewrite, walk, writable, write
from agents_runtime.tools.tool import ToolContext, ToolError
from tests.agents_runtime.packages import contents
from tests.agents_runtime.tools.support import OPEN, SECRET, surroundings


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return surroundings(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> ToolContext:
    """One for all examples of a property: none of them may change anything but the agent's own state."""
    return surroundings(tmp_path_factory.mktemp("shared"))


def base_of(context: ToolContext) -> Path:
    return context.agent.directory.parents[2]


def outside(context: ToolContext) -> list[tuple[str, bytes | str]]:
    """Everything there is but the agent's own state."""
    return [found for found in contents(base_of(context)) if not found[0].startswith(f"{context.state_dir}/")]


def read(context: ToolContext, path: str) -> str:
    with opened(readable(context, path)) as file:
        return file.read().decode()


SEGMENTS = [
    *("skills", "state", "inbox", "agent.json", "README.md", "desk", "SKILL.md", "notes.json", "sub", "deep.txt"),
    *("..", ".", "", "...", " ", "~", "up", "loop", "nowhere", "file-link", "folder-link", "link.json", "key.json"),
    *("secret.txt", "conversations", "one", "two", "State", "STATE", "SKILLS", "%2e%2e", "..%2f", "․․", "．．", "C:"),
    *("state\0", "..\\", "..\n", "\u202e..", "\ud800", "con", "x" * 300, "photo.txt", "agents", "shop", "new"),
]
climbing = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=6)
paths = st.one_of(
    st.builds(
        lambda start, parts, sep: start + sep.join(parts),
        st.sampled_from(["", "/", "./", "state/", "skills/"]),
        climbing,
        st.sampled_from(["/", "/", "/", "\\", "//"]),
    ),
    st.text(max_size=40),
)


@given(paths)
@example("state/folder-link/key.json")
@example("state/up/two/notes.json")
@example("state/sub/folder-link/key.json")
@example("skills/desk/folder-link/key.json")
@example("inbox/file-link")
@example("state/link.json")
def test_no_path_reads_anything_outside(shared: ToolContext, path: str) -> None:
    with suppress(ToolError):
        assert SECRET not in read(shared, path)


@given(paths)
@example("state/nowhere")
@example("state/folder-link/key.json")
@example("state/folder-link/new.json")
@example("state/up/two/notes.json")
@example("skills/desk/SKILL.md")
@example("agent.json")
@example("state/loop/new")
def test_no_path_writes_anything_outside(shared: ToolContext, path: str) -> None:
    before = outside(shared)
    with suppress(ToolError):
        write(writable(shared, path), b"written by the agent")
    with suppress(ToolError):
        rewrite(writable(shared, path), lambda _: b"changed by the agent", 100)
    with suppress(ToolError):
        for _ in walk(readable(shared, path)):
            pass

    assert outside(shared) == before


@given(paths)
def test_no_path_lists_anything_that_can_t_be_read(shared: ToolContext, path: str) -> None:
    with suppress(ToolError):
        for shown, size in walk(readable(shared, path)):
            assert len(read(shared, shown).encode()) == size


@pytest.mark.parametrize(
    "path",
    [
        "skills/desk/SKILL.md",
        "./skills/desk/references/more.md",
        "state/notes.json",
        "state/sub/deep.txt",
        "inbox/photo.txt",
    ],
)
def test_what_is_the_agent_s_is_read(context: ToolContext, path: str) -> None:
    assert OPEN in read(context, path)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("agent.json", "outside of what this agent sees. Paths begin with skills/, state/, inbox/."),
        ("SKILLS/desk/SKILL.md", "outside of what this agent sees"),
        ("State/notes.json", "outside of what this agent sees"),
        ("../secret.txt", "not a path here"),
        ("state/../two/notes.json", "not a path here"),
        ("state//notes.json", "not a path here"),
        ("state/notes.json.", "not a path here"),
        ("state/notes.json ", "not a path here"),
        (f"state/{'é' * 120}", "not a path here"),
        ("state\\notes.json", "not a path here"),
        ("state/notes.json\0.txt", "not a path here"),
        ("C:/state/notes.json", "not a path here"),
        ("state/notes.json:stream", "not a path here"),
        ("/etc/passwd", "not a path here"),
        ("", "not a path here"),
        ("state/" + "x/" * 300, "not a path here"),
        ("state/\ud800", "not a path here"),
        ("state/file-link", "Links are not followed"),
        ("state/folder-link/key.json", "Links are not followed"),
        ("state/loop", "Links are not followed"),
        ("state/gone.json", "There is no file 'state/gone.json'. list_files shows what there is."),
        ("state/sub", "not a file"),
        ("state", "is a folder"),
        ("state/notes.json/x", "can't be used"),
    ],
)
def test_a_refusal_says_why_and_what_there_is(context: ToolContext, path: str, told: str) -> None:
    with pytest.raises(ToolError) as caught:
        read(context, path)
    assert told in str(caught.value)
    assert str(base_of(context)) not in str(caught.value)


def test_skills_swapped_for_a_link_after_loading_are_not_read_through(context: ToolContext) -> None:
    skills = context.agent.directory / "skills"
    skills.rename(skills.with_name("away"))
    skills.symlink_to(base_of(context) / "home/secrets")

    with pytest.raises(ToolError, match="Links are not followed"):
        read(context, "skills/key.json")
    with pytest.raises(ToolError, match="Links are not followed"):
        next(walk(readable(context, "skills")))


def test_nothing_is_left_open(context: ToolContext) -> None:
    before = len([*Path("/dev/fd").iterdir()])
    for path in ("state", "state/sub", "state/loop", "state/sub/gone", "state/notes.json/x", "state/sub/deep.txt"):
        with suppress(ToolError):
            read(context, path)
        with suppress(ToolError):
            next(walk(readable(context, path)))
        with suppress(ToolError):
            write(writable(context, path), b"x")
        with suppress(ToolError):
            rewrite(writable(context, path), lambda before: before, 0)
    assert len([*Path("/dev/fd").iterdir()]) == before


def test_without_an_inbox_there_is_none(context: ToolContext) -> None:
    with pytest.raises(ToolError, match=r"begin with skills/, state/\.$"):
        readable(replace(context, inbox=None), "inbox/photo.txt")


def test_a_pipe_is_not_waited_for(context: ToolContext) -> None:
    os.mkfifo(context.state_dir / "pipe")

    with pytest.raises(ToolError, match="not a file"):
        read(context, "state/pipe")
    with pytest.raises(ToolError, match="not a file"):
        write(writable(context, "state/pipe"), b"x")


@pytest.mark.parametrize("path", ["state", "state/", "skills/desk/SKILL.md", "inbox/photo.txt", "agent.json", "x"])
def test_only_state_is_written(context: ToolContext, path: str) -> None:
    with pytest.raises(ToolError, match="can't be written"):
        writable(context, path)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("state/sub", "not a file"),
        ("state/file-link", "not a file"),
        ("state/nowhere", "not a file"),
        ("state/notes.json/x", "can't be used"),
        ("state/folder-link/x", "Links are not followed"),
        ("state/up/x", "Links are not followed"),
    ],
)
def test_what_is_in_the_way_is_told(context: ToolContext, path: str, told: str) -> None:
    before = [*contents(base_of(context))]

    with pytest.raises(ToolError, match=told):
        write(writable(context, path), b"x")
    assert [*contents(base_of(context))] == before


@pytest.mark.parametrize(
    ("writes", "path", "allowed"),
    [
        (None, "state/any/thing.md", True),
        ([], "state/notes.json", False),
        (["state/"], "state/any/thing.md", True),
        (["notes.json"], "state/notes.json", True),
        (["state/notes.json"], "state/notes.json", True),
        (["state/notes.json"], "state/Notes.json", False),
        (["state/notes.json"], "state/notes.json/x", False),
        (["state/*.json"], "state/other.json", True),
        (["state/*.json"], "state/sub/other.json", False),
        (["state/orders/"], "state/orders/1/a.md", True),
        (["state/orders/"], "state/orders", False),
        (["state/orders/"], "state/orders-of-others/a.md", False),
        (["state/**/a.md", "b.md"], "state/a.md", True),
        (["state/**/a.md", "b.md"], "state/x/y/a.md", True),
        (["state/**/a.md", "b.md"], "state/b.md", True),
        (["state/**/a.md", "b.md"], "state/x/b.md", False),
    ],
)
def test_a_manifest_draws_the_boundary(tmp_path: Path, writes: list[str] | None, path: str, allowed: bool) -> None:
    context = surroundings(tmp_path, writes=writes)
    if allowed:
        write(writable(context, path), b"x")
        assert read(context, path) == "x"
    else:
        with pytest.raises(ToolError, match="write boundary") as caught:
            writable(context, path)
        assert "may write nothing" in str(caught.value) if not writes else "It may write: state/" in str(caught.value)


names = st.text("ab.", min_size=1, max_size=3)


@given(st.lists(names, min_size=1, max_size=4))
def test_a_path_matches_itself_and_what_covers_it(parts: list[str]) -> None:
    path = "/".join(parts)

    assert matches(path, path)
    assert matches("**", path)
    assert matches("/".join("*" for _ in parts), path)
    assert matches(f"{parts[0]}/", path) == (len(parts) > 1)
    assert not matches(f"{path}/*", path)
    assert matches(f"**/{parts[-1]}", path)


@given(st.lists(st.sampled_from(["**", "*", "a", "b"]), max_size=5), st.lists(st.sampled_from("ab"), max_size=5))
def test_globs_mean_what_they_say(glob: list[str], path: list[str]) -> None:
    def fits(wanted: list[str], parts: list[str]) -> bool:
        if not wanted:
            return not parts
        if wanted[0] == "**":
            return any(fits(wanted[1:], parts[at:]) for at in range(len(parts) + 1))
        return bool(parts) and wanted[0] in {"*", parts[0]} and fits(wanted[1:], parts[1:])

    if glob and path:
        assert matches("/".join(glob), "/".join(path)) == fits(glob, path)


def test_a_hostile_glob_is_decided_at_once() -> None:
    assert not matches("**/" * 60 + "x", "a/" * 120 + "a")
    assert not matches("*a" * 60 + "x", "a" * 120)


@pytest.fixture
def swapped(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolContext]:
    """Between the check and the use, somebody puts a link in the place of the folder `sub`."""
    real = confine._opened

    def opened_then_swapped(*args: object, **more: object) -> int:
        descriptor = real(*args, **more)  # type: ignore[arg-type]
        if args[1] == "sub":
            (context.state_dir / "sub").rename(context.state_dir / "moved")
            (context.state_dir / "sub").symlink_to(base_of(context) / "home/secrets")
        return descriptor

    monkeypatch.setattr(confine, "_opened", opened_then_swapped)
    return context


def test_a_folder_swapped_for_a_link_in_between_leads_nowhere(swapped: ToolContext) -> None:
    before = outside(swapped)
    write(writable(swapped, "state/sub/key.json"), b"mine")

    assert outside(swapped) == before
    assert (swapped.state_dir / "moved/key.json").read_bytes() == b"mine"


def test_nor_is_it_read_through(swapped: ToolContext) -> None:
    assert read(swapped, "state/sub/deep.txt") == OPEN


def test_a_write_that_fails_leaves_what_was_there(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [*contents(context.state_dir)]

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(confine.os, "fsync", full)
    with pytest.raises(ToolError, match="No space left on device"):
        write(writable(context, "state/notes.json"), b"[]")
    assert [*contents(context.state_dir)] == before


def test_a_write_is_on_disk_before_it_is_in_place(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, os.rename
    monkeypatch.setattr(confine.os, "fsync", lambda fd: (steps.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr(confine.os, "rename", lambda *a, **k: (steps.append("rename"), rename(*a, **k))[1])
    write(writable(context, "state/a/b/new.md"), b"x")

    assert steps == ["fsync", "rename", "fsync"]
    assert (context.state_dir / "a/b/new.md").stat().st_mode & 0o777 == 0o600


def test_what_can_be_read_is_listed_in_order(context: ToolContext) -> None:
    (context.state_dir / f"{UNFINISHED}1234").write_text("half")
    for path in ("odd\nname", "odd\nfolder/a.md", "z/a.md", "a/b.md", "m/c.md"):
        (context.state_dir / path).parent.mkdir(exist_ok=True)
        (context.state_dir / path).write_text("x")

    assert [shown for shown, _ in walk(readable(context, "state/"))] == [
        "state/notes.json",
        "state/a/b.md",
        "state/m/c.md",
        "state/sub/deep.txt",
        "state/z/a.md",
    ]
    assert [*walk(readable(context, "state/notes.json"))] == [("state/notes.json", len(f'["{OPEN}"]'))]


def test_changes_at_the_same_time_all_happen(context: ToolContext) -> None:
    write(writable(context, "state/log.txt"), b"")

    def work(worker: int) -> None:
        for number in range(5):
            rewrite(writable(context, "state/log.txt"), lambda b, n=number: b + f"{worker}.{n}\n".encode(), 10_000)

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, worker) for worker in range(6)]:
            done.result()
    assert sorted(read(context, "state/log.txt").split()) == [f"{w}.{n}" for w in range(6) for n in range(5)]


def test_a_change_by_anyone_else_is_not_overwritten(context: ToolContext) -> None:
    def change(before: bytes) -> bytes:
        (context.state_dir / "notes.json").write_text("saved by a person")
        return b"the agent's"

    with pytest.raises(ToolError, match=r"changed meanwhile. Read it again"):
        rewrite(writable(context, "state/notes.json"), change, 1000)
    assert read(context, "state/notes.json") == "saved by a person"


def test_a_file_that_is_too_large_to_change_is_left_alone(context: ToolContext) -> None:
    write(writable(context, "state/long.txt"), b"x" * 11)

    with pytest.raises(ToolError, match="larger than 10 bytes"):
        rewrite(writable(context, "state/long.txt"), lambda before: before[:1], 10)
