"""Files of an answer: found where they are links, confined, kept as they are, and never lost in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.adapter import FileLimits, Limits
from gateway.attachments import MAX_BYTES, Attachments
from gateway.outgoing import FILES_MAX, attach, without_files

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


@pytest.mark.parametrize(
    ("markdown", "text", "paths"),
    [
        ("![menu](state/menu.png)", "", ("state/menu.png",)),
        ("Here:\n\n![menu](state/menu.png)\n\nEnjoy.", "Here:\n\n\n\nEnjoy.", ("state/menu.png",)),
        ("Here is [the menu](state/menu.pdf).", "Here is the menu.", ("state/menu.pdf",)),
        ("- ![one](state/1.png)\n- ![two](inbox/2.png)", "- one\n- two", ("state/1.png", "inbox/2.png")),
        ("![a b](<state/a b.png>) ![c](./state/c%20d.png)", "a b c", ("state/a b.png", "state/c d.png")),
        ('![a](state/a.png "A title")', "", ("state/a.png",)),
        ("![a](state/a.png)\n![a](state/a.png)", "", ("state/a.png",)),
        ("| x |\n|---|\n| [a](state/a.csv) |", "| x |\n|---|\n| a |", ("state/a.csv",)),
        ("Write `![x](state/x.png)`", "Write `![x](state/x.png)`", ()),
        ("```\n![x](state/x.png)\n```\n\n![x](state/x.png)", "```\n![x](state/x.png)\n```", ("state/x.png",)),
        (r"\![x](state/x.png)", r"\!x", ("state/x.png",)),
        (r"\[x](state/x.png)", r"\[x](state/x.png)", ()),
        ("[site](https://example.com/state/x) ![x](file0)", "[site](https://example.com/state/x) ![x](file0)", ()),
        ("![skill](skills/desk/SKILL.md)", "![skill](skills/desk/SKILL.md)", ()),
    ],
)
def test_links_to_files_are_taken_out_where_they_are_links(markdown, text, paths):
    assert without_files(markdown) == (text, paths)


@given(st.text(alphabet="ab`*[]!()<>/\\ \n-|", max_size=60))
def test_a_text_without_files_is_left_as_it_is(text):
    assert without_files(text) == (text, ())


@pytest.fixture
def folders(tmp_path):
    state, inbox = tmp_path / "state", tmp_path / "inbox" / "someone"
    state.mkdir()
    inbox.mkdir(parents=True)
    return {"state_dir": state, "inbox": inbox, "store": Attachments(tmp_path), "limits": FileLimits()}


async def test_a_file_goes_out_as_it_was_when_the_answer_was_given(folders):
    (folders["state_dir"] / "menu.png").write_bytes(PNG)
    answer = await attach("Our menu:\n![menu](state/menu.png)", **folders)
    (folders["state_dir"] / "menu.png").write_bytes(b"changed")
    (file,) = answer.files
    assert (answer.text, answer.notes) == ("Our menu:", ())
    assert (file.kind, file.media_type, file.size, file.name) == ("image", "image/png", len(PNG), "menu.png")
    assert Path(file.path).read_bytes() == PNG


async def test_a_received_file_can_be_sent_back(folders):
    (folders["inbox"] / "01A-0.png").write_bytes(PNG)
    answer = await attach("![it](inbox/01A-0.png)", **folders)
    assert [file.name for file in answer.files] == ["01A-0.png"]


@pytest.mark.parametrize(("name", "kind"), [("a.csv", "text/csv"), ("a.html", "text/plain"), ("a.png", "text/plain")])
async def test_a_name_is_believed_only_for_harmless_texts(folders, name, kind):
    (folders["state_dir"] / name).write_text("<p>1,2")
    (file,) = (await attach(f"[x](state/{name})", **folders)).files
    assert (file.kind, file.media_type) == ("document", kind)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("state/none.png", "There is no file"),
        ("state/../../ledger.db", "is not a path here"),
        ("state/link.png", "can't be used"),
        ("state/folder", "is not a file"),
        ("state/empty.txt", "it is empty"),
        ("state/big.bin", "larger than 20 MB"),
    ],
)
async def test_what_can_not_be_sent_leaves_a_line_and_a_note(folders, tmp_path, target, why):
    state = folders["state_dir"]
    (tmp_path / "ledger.db").write_bytes(b"secret")
    (state / "link.png").symlink_to(tmp_path / "ledger.db")
    (state / "folder").mkdir()
    (state / "empty.txt").touch()
    with (state / "big.bin").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    answer = await attach(f"Look: ![x]({target})", **folders)
    assert answer.files == ()
    assert answer.text == f"Look: x\n\n({target.rpartition('/')[2]} could not be sent.)"
    assert len(answer.notes) == 1
    assert why in answer.notes[0]


async def test_a_channel_without_files_gets_a_line_for_each(folders):
    (folders["state_dir"] / "menu.png").write_bytes(PNG)
    limits = FileLimits(unavailable="there is no public URL")
    answer = await attach("![menu](state/menu.png)", **{**folders, "limits": limits})
    assert (answer.text, answer.files) == ("(menu.png could not be sent.)", ())
    assert answer.notes == ("menu.png was not sent: there is no public URL.",)


async def test_an_answer_has_only_so_many_files(folders):
    for number in range(FILES_MAX + 1):
        (folders["state_dir"] / f"{number}.png").write_bytes(PNG)
    answer = await attach("\n".join(f"![x](state/{n}.png)" for n in range(FILES_MAX + 1)), **folders)
    assert len(answer.files) == FILES_MAX
    assert answer.notes == (f"{FILES_MAX}.png was not sent: an answer has {FILES_MAX} files at most.",)


def test_limits_go_by_the_first_kind_that_fits():
    limits = FileLimits(sizes=(("image/png", 5_000_000), ("image/", 1_000)))
    assert limits.complaint("image/png", 5_000_000) == ""
    assert limits.complaint("image/png", 5_000_001) == "it is larger than 5 MB"
    assert limits.complaint("image/gif", 1_001) == "it is larger than 0.001 MB"
    assert limits.complaint("text/plain", 1) == "text/plain files are not taken here"


def test_a_channel_that_does_not_say_so_sends_no_files():
    assert Limits(text=100).files.complaint("image/png", 1) == "this channel sends no files"
