"""The registry: the nearest wins, an edit is seen at once, and ten thousand packages cost nothing until asked for."""

from __future__ import annotations

import builtins
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents_runtime import loader, registry, tree
from agents_runtime.loader import AgentInvalid
from agents_runtime.package import Source
from agents_runtime.registry import AgentEntry, AgentMissing, Registry, Root
from agents_runtime.tools import BUILT_IN
from tests.agents_runtime.packages import LONG_AGO, age, manifest, skill, write_package

DESK = "skills/desk/SKILL.md"


@pytest.fixture
def roots(tmp_path: Path) -> list[Root]:
    sources: tuple[Source, ...] = ("bundled", "user", "project", "project-local")
    return [Root(tmp_path / source, source) for source in sources]


@contextmanager
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts looks at the disk: folders read, files opened, files looked at."""
    seen: Counter[str] = Counter()

    def counted(module: object, name: str, kind: str) -> None:
        real = getattr(module, name)

        def call(*args: object, **more: object) -> object:
            seen[kind] += 1
            return real(*args, **more)

        monkeypatch.setattr(module, name, call)

    with monkeypatch.context() as monkeypatch:
        counted(os, "scandir", "folders")
        counted(os, "listdir", "folders")
        counted(builtins, "open", "files")
        counted(os, "open", "files")
        counted(os, "stat", "stats")
        counted(os, "lstat", "stats")
        for module in (loader, tree):
            counted(module, "read_text", "files")
        yield seen


def test_the_nearest_wins_and_says_what_it_hides(roots: list[Root]) -> None:
    for root in roots:
        write_package(root.path, label=root.source)
    everywhere = Registry(roots)

    assert everywhere.get("shop").source == "project-local"
    assert everywhere.get("shop").manifest.label == "project-local"
    assert everywhere.get("shop").hides == ("project", "user", "bundled")
    assert Registry(roots[:2]).get("shop").source == "user"
    assert Registry(roots[:1]).get("shop").hides == ()


def test_a_folder_without_a_manifest_hides_nothing(roots: list[Root]) -> None:
    write_package(roots[0].path)
    (roots[1].path / "shop").mkdir(parents=True)

    assert Registry(roots).get("shop").source == "bundled"


def test_a_broken_package_is_not_passed_over(roots: list[Root]) -> None:
    write_package(roots[0].path)
    write_package(roots[1].path, entrySkill="gone")

    with pytest.raises(AgentInvalid, match="entrySkill names 'gone'"):
        Registry(roots).get("shop")


def test_a_missing_agent_is_told_with_its_nearest_names(roots: list[Root]) -> None:
    for name in ("front-desk", "front-door", "kitchen"):
        write_package(roots[1].path, name)
    agents = Registry(roots)

    with pytest.raises(AgentMissing, match=r"no agent 'frontdesk'. Did you mean front-desk") as caught:
        agents.get("frontdesk")
    assert caught.value.code == "agent_missing"
    with pytest.raises(AgentMissing, match="postroom agent list"):
        agents.get("zzz")


@pytest.mark.parametrize("name", ["..", "../user/shop", "/shop", "", ".", "Shop", "shop/", "shop\n", "a" * 65])
def test_no_name_leads_out_of_the_places(roots: list[Root], name: str) -> None:
    write_package(roots[1].path)

    with pytest.raises(AgentMissing):
        Registry(roots).get(name)


@pytest.mark.parametrize(
    "file",
    ["agent.json", DESK, "skills/desk/benchmarks.json", "skills/desk/sub-skills.json", "skills/desk/references/a.md"],
)
def test_an_edit_is_seen_without_a_restart(roots: list[Root], file: str) -> None:
    text = {"agent.json": json.dumps(manifest(label="Other")), DESK: skill(body="Answer at length.")}
    directory = write_package(roots[1].path, files={"skills/desk/references/b.md": "x"})
    age(directory)
    agents = Registry(roots)
    before = agents.get("shop")
    assert agents.get("shop") is before

    (directory / file).write_text(text.get(file, "{}"))
    after = agents.get("shop")

    assert after.revision != before.revision
    (directory / file).unlink()
    if file in text:
        with pytest.raises((AgentInvalid, AgentMissing)):
            agents.get("shop")
    else:
        assert agents.get("shop").revision == before.revision


def test_a_skill_that_is_added_changes_the_revision(roots: list[Root]) -> None:
    directory = write_package(roots[1].path)
    age(directory)
    agents = Registry(roots)
    before = agents.get("shop").revision
    (directory / "skills/other").mkdir()
    (directory / "skills/other/SKILL.md").write_text(skill("other"))

    assert agents.get("shop").revision != before


def test_edits_within_one_tick_of_the_clock_are_all_seen(roots: list[Root], monkeypatch: pytest.MonkeyPatch) -> None:
    directory = write_package(roots[1].path)
    monkeypatch.setattr(tree.time, "time_ns", lambda: LONG_AGO + 1_000_000)
    agents = Registry(roots)

    for word in ("one", "two", "six"):
        (directory / DESK).write_text(skill(body=word))
        (directory / "agent.json").write_text(json.dumps(manifest(label=word)))
        age(directory)
        assert agents.get("shop").entry.body == word
        assert [entry.label for entry in agents.entries()] == [word]


def test_an_edit_while_it_is_being_read_is_seen_the_next_time(
    roots: list[Root], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = write_package(roots[1].path)
    age(directory)
    agents = Registry(roots)
    real = registry.load_package

    def slow(*args: object) -> object:
        package = real(*args)  # type: ignore[arg-type]
        (directory / DESK).write_text(skill(body="Saved meanwhile."))
        return package

    monkeypatch.setattr(registry, "load_package", slow)
    assert agents.get("shop").entry.body == "Answer briefly."
    monkeypatch.setattr(registry, "load_package", real)
    assert agents.get("shop").entry.body == "Saved meanwhile."


def test_a_package_that_comes_and_goes_is_seen(roots: list[Root]) -> None:
    agents = Registry(roots)
    assert agents.entries() == []
    directory = write_package(roots[1].path)
    assert agents.get("shop").id == "shop"
    assert agents.ids() == ["shop"]

    nearer = write_package(roots[3].path, label="Nearer")
    assert agents.get("shop").manifest.label == "Nearer"
    (nearer / "agent.json").unlink()
    assert agents.get("shop").source == "user"
    (directory / "agent.json").unlink()
    assert agents.entries() == []


def test_a_listing_says_where_each_is_from_and_what_is_wrong(roots: list[Root]) -> None:
    write_package(roots[0].path, "desk", status="draft")
    write_package(roots[1].path, "broken", colour="red")
    write_package(roots[1].path, "needy", allowedTools=["read", "reminders.add"])
    write_package(roots[3].path, "desk")
    write_package(roots[1].path, "Not An Id")
    (roots[1].path / "a-file").touch()
    agents = Registry(roots)
    broken, desk, needy = agents.entries()

    assert desk == AgentEntry(
        "desk", "Corner shop", "Answers for the corner shop.", "desk", "production", "project-local", ("bundled",)
    )
    assert (broken.id, broken.status, broken.source) == ("broken", None, "user")
    assert "unknown field 'colour'" in broken.problem
    assert needy.problem == ""

    held = agents.entries(BUILT_IN)[2]
    assert "needs reminders.add, and nobody provides it" in held.problem
    assert agents.entries()[2] == needy
    assert str(roots[1].path) not in repr([broken, desk, needy, held])


def test_nothing_is_read_before_it_is_asked_for(roots: list[Root], monkeypatch: pytest.MonkeyPatch) -> None:
    write_package(roots[1].path)

    with disk(monkeypatch) as seen:
        Registry(roots)
    assert seen == {}


def test_getting_one_of_hundreds_is_a_few_stats(roots: list[Root], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(400):
        write_package(roots[1].path, f"agent-{number}")
    age(roots[1].path)
    agents = Registry(roots)

    with disk(monkeypatch) as first:
        package = agents.get("agent-200")
    assert first["folders"] <= 2, "only its own skills/"
    assert first["files"] <= 10

    with disk(monkeypatch) as again:
        assert agents.get("agent-200") is package
    assert set(again) == {"stats"}, "nothing is opened where nothing changed"
    assert again["stats"] <= 3 * len(roots) + 5, "three forms a place, one more in a project, and its own files"


def test_listing_hundreds_reads_manifests_once(roots: list[Root], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        write_package(roots[1].path, f"agent-{number:03}")
    age(roots[1].path)
    agents = Registry(roots)

    with disk(monkeypatch) as first:
        listed = agents.entries()
    assert len(listed) == 300
    assert first["folders"] == len(roots)

    (roots[1].path / "agent-007/agent.json").write_text(json.dumps(manifest("agent-007", label="Bond")))
    os.utime(roots[1].path / "agent-007/agent.json", ns=(LONG_AGO, LONG_AGO + 1))
    with monkeypatch.context() as patch:
        read: list[Path] = []
        real = registry.load_manifest
        patch.setattr(registry, "load_manifest", lambda path: (read.append(path), real(path))[1])
        assert agents.entries()[7].label == "Bond"
    assert [path.name for path in read] == ["agent-007"]


def test_what_is_kept_in_memory_has_an_end(roots: list[Root], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KEPT", 3)
    for number in range(8):
        write_package(roots[1].path, f"agent-{number}")
    agents = Registry(roots)

    for number in range(8):
        assert agents.get(f"agent-{number}").id == f"agent-{number}"
    assert len(agents._loaded) <= 3
