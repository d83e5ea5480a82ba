"""Reading a postroom.yaml: what is wrong is told with its line, and a secret is never in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.declared.file import Declared, FileInvalid, read_declared, write_declared

WHOLE = """\
version: 1
agents: [./agents]
connections:
  shop:
    channel: telegram
    label: The shop
    owners: [123]
    settings: {mode: webhook}
    secrets:
      bot_token: {env: SHOP_TOKEN}
routes:
  - connection: shop
    agent: front-desk
    scope: {kind: dm, senders: [42], commands: [/Start]}
    access: allowlist
    allow: ["42"]
"""


def read(tmp_path: Path, text: str) -> Declared:
    file = tmp_path / "postroom.yaml"
    file.write_text(text)
    return read_declared(file)


def test_everything_a_file_can_say(tmp_path: Path) -> None:
    declared = read(tmp_path, WHOLE)
    assert declared.connections["shop"].owners == ("123",)
    assert declared.connections["shop"].secrets["bot_token"].env == "SHOP_TOKEN"
    scope = declared.routes[0].scope.to_scope()
    assert (scope.kind, scope.senders, scope.commands) == ("dm", frozenset({"42"}), frozenset({"start"}))


def test_what_is_written_reads_back_the_same(tmp_path: Path) -> None:
    declared = read(tmp_path, WHOLE)
    assert read(tmp_path, write_declared(declared)) == declared
    assert read(tmp_path, write_declared(Declared())) == Declared() == read(tmp_path, "")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("version: 1", "version: 2", 1, "version"),
        ("    agent: front-desk", "    agnet: front-desk", 13, "agnet"),
        ("{env: SHOP_TOKEN}", "123456:abcdef", 10, "secrets.bot_token"),
        ("{env: SHOP_TOKEN}", "{}", 10, "never the secret itself"),
        ("{env: SHOP_TOKEN}", "{env: A, file: B}", 10, "give one of"),
        ("kind: dm", "kind: pm", 14, "kind"),
        ("    label: The shop", "    channel: slack", 6, "there twice"),
        ("  shop:", "  My Shop:", 4, "My Shop"),
        ("channel: telegram", "channel: [telegram", 0, ""),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(FileInvalid) as caught:
        read(tmp_path, WHOLE.replace(old, new, 1))
    assert line in (0, caught.value.line)
    assert words in str(caught.value)
    assert caught.value.fix
    assert "123456:abcdef" not in str(caught.value)


@pytest.mark.parametrize("text", ["- 1", "!!python/object/apply:os.system [x]", "\0", "a: &a [*a]", "{" * 3000])
def test_odd_files_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileInvalid):
        read(tmp_path, text)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(FileInvalid, match="postroom export"):
        read_declared(tmp_path / "none.yaml")
