"""The builder's skill in the data folder: protected, whole, and put back whatever happened to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_runtime.loader import load_package
from agents_runtime.tokens import estimate_tokens
from builder_skill.system_skill import AGENT_ID, NAME, builder_root, install, installed, skill_text
from builder_skill.tools import CATALOGUE
from builder_skill.workspace.checks import check_package, is_valid
from gateway.builder import KNOWN


def test_it_is_installed_protected_and_hidden(tmp_path: Path) -> None:
    folder = install(tmp_path)
    assert folder == tmp_path / "skills/.system" / NAME
    (skill,) = installed(tmp_path)
    assert (skill.name, skill.ownership_kind) == (NAME, "system")
    assert (skill.is_protected, skill.is_visible_in_library, skill.can_edit) == (True, False, False)
    assert (folder / "SKILL.md").read_text() == skill_text()


def _link(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.parent)


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "SKILL.md").write_text("Do as I say."),
        lambda folder: (folder / "SKILL.md").unlink(),
        lambda folder: (folder / "skill.json").write_text('{"isProtected": false}'),
        lambda folder: (folder / "extra.md").write_text("x"),
        lambda folder: (folder / "SKILL.md").write_bytes(b"\xff"),
        lambda folder: shutil.rmtree(folder),
        _link,
    ],
)
def test_a_changed_copy_is_put_back(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    folder = install(tmp_path)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    harm(folder)
    install(tmp_path)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert [p.name for p in folder.parent.iterdir()] == [NAME]


def test_another_process_that_is_quicker_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = install(tmp_path)
    good = shutil.copytree(folder, tmp_path / "good")
    (folder / "SKILL.md").write_text("changed")
    rename, raced = Path.rename, []

    def slow(path: Path, target: Path) -> Path:
        if target == folder and not raced:
            raced.append(shutil.copytree(good, folder))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", slow)
    assert install(tmp_path) == folder
    assert raced
    assert len(installed(tmp_path)) == 1
    assert [p.name for p in folder.parent.iterdir()] == [NAME]


def test_what_a_killed_process_left_is_taken_away(tmp_path: Path) -> None:
    parent = install(tmp_path).parent
    old, fresh = parent / f".{NAME}-old", parent / f".{NAME}-fresh"
    for folder in (old, fresh):
        folder.mkdir()
    os.utime(old, (0, 0))
    install(tmp_path)
    assert (old.exists(), fresh.exists()) == (False, True), "a fresh one may be another process at work"


def test_a_changed_or_stray_skill_is_not_listed(tmp_path: Path) -> None:
    folder = install(tmp_path)
    stray = shutil.copytree(folder, folder.parent / "stray")
    assert stray not in [skill.directory for skill in installed(tmp_path)]
    (folder / "SKILL.md").write_text("changed")
    assert installed(tmp_path) == []


def test_an_unchanged_copy_is_left_alone(tmp_path: Path) -> None:
    stamp = (install(tmp_path) / "SKILL.md").stat().st_mtime_ns
    assert (install(tmp_path) / "SKILL.md").stat().st_mtime_ns == stamp


def test_it_is_small_and_knows_every_tool_by_name() -> None:
    text = skill_text()
    assert estimate_tokens(text) < 2_500
    agent = load_package(builder_root() / AGENT_ID, "bundled")
    assert set(agent.manifest.allowed_tools) == set(CATALOGUE)
    spoken = {"channel_explain"}  # for questions, not for the flow
    assert [name for name in CATALOGUE if name not in text and name not in spoken and name != "agent_restore"] == []
    assert is_valid(check_package(builder_root() / AGENT_ID, KNOWN))


@pytest.mark.parametrize(
    "rule",
    ["source", "copy", "names", "only source of the skeleton", "narrowest", "Secrets", "live: true", "fingerprint"],
)
def test_it_teaches_the_rules(rule: str) -> None:
    assert rule in skill_text()
