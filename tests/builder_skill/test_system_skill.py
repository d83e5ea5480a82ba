"""The builder's skill in the data folder: protected, whole, and put back whatever happened to it."""

from __future__ import annotations

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
