"""Loading a package: what it comes to, and what every mistake is told as."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agents_runtime.loader import AgentInvalid, load_package
from agents_runtime.tree import MAX_FILES, MAX_TEXT
from tests.agents_runtime.packages import manifest, skill, write_package

DESK, WIRING, CASES = "skills/desk/SKILL.md", "skills/desk/sub-skills.json", "skills/desk/benchmarks.json"
ORDERS = {"id": "orders", "description": "About orders."}


def refused(directory: Path) -> AgentInvalid:
    with pytest.raises(AgentInvalid) as caught:
        load_package(directory, "user")
    assert caught.value.code == "agent_invalid"
    assert caught.value.fix
    return caught.value


def test_a_package_is_its_manifest_and_the_skills_it_names(tmp_path: Path) -> None:
    case = {
        "name": "hours",
        "input": "Open?",
        "expect": {"contains": ["9"], "matches": [r"\d"], "toolCalled": "read", "maxSteps": 2},
    }
    files = {
        DESK: skill("desk", "Answer.", allowed_tools="read execute_skill"),
        "skills/orders/SKILL.md": skill("orders", "Look it up."),
        "skills/unused/SKILL.md": skill("unused"),
        WIRING: json.dumps({"subSkills": [ORDERS]}),
        CASES: json.dumps({"cases": [case]}),
    }
    package = load_package(write_package(tmp_path, files=files, subSkills=[ORDERS]), "project")

    assert (package.id, package.source, [*package.skills]) == ("shop", "project", ["desk", "orders"])
    assert (package.entry.body, package.entry.description) == ("Answer.", "The desk.")
    assert package.entry.allowed_tools == ("read", "execute_skill")
    assert package.entry.sub_skills == ("orders",)
    assert package.skills["orders"].allowed_tools is None


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("allowed-tools: read write_file", ("read", "write_file")),
        ("allowed-tools: read,write_file, edit_file", ("read", "write_file", "edit_file")),
        ("allowed-tools: [read, write_file]", ("read", "write_file")),
        ("allowed-tools:\n  - read\n  - reminder.*", ("read", "reminder.*")),
        ("allowed-tools:", ()),
        ("allowed-tools: {read: yes}", ()),
        ("license: MIT\nmetadata:\n  author: someone\nanything: else", None),
    ],
)
def test_a_skill_is_read_forgivingly(tmp_path: Path, text: str, tools: tuple[str, ...] | None) -> None:
    desk = f"\ufeff---\r\ndescription: The  desk\r\n{text}\r\n---\r\nAnswer.\r\n"
    entry = load_package(write_package(tmp_path, files={DESK: desk}), "user").entry

    assert (entry.name, entry.description, entry.body) == ("desk", "The desk", "Answer.")
    assert entry.allowed_tools == tools


def test_a_long_description_is_cut(tmp_path: Path) -> None:
    files = {DESK: skill(description="long " * 500)}

    assert len(load_package(write_package(tmp_path, files=files), "user").entry.description) == 1024


def test_a_manifest_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    files = {"agent.json": "\ufeff" + json.dumps(manifest())}

    assert load_package(write_package(tmp_path, files=files), "user").id == "shop"


@pytest.mark.parametrize("written", ["notes.json", "state/notes.json"])
def test_paths_of_state_may_name_its_folder_or_not(tmp_path: Path, written: str) -> None:
    package = load_package(write_package(tmp_path, stateFiles=[written], writes=[written, "state/"]), "user")

    assert package.manifest.state_files == ("notes.json",)
    assert package.manifest.writes == ("notes.json", "**")


@pytest.mark.parametrize(
    ("fields", "line", "told"),
    [
        ({"entrySkil": "x"}, 8, "unknown field 'entrySkil'. Did you mean 'entrySkill'?"),
        ({"max_turns": 20}, 8, "unknown field 'max_turns'. Did you mean 'maxTurns'?"),
        ({"zzz": 1}, 8, "unknown field 'zzz'. Known fields: schemaVersion, id"),
        ({"subSkills": [ORDERS, {"id": "b", "descripton": ""}]}, 15, "Did you mean 'description'?"),
        ({"label": None}, 1, "label: Field required. Add it."),
        ({"status": "live"}, 7, "status: Input should be 'draft', 'production' or 'disabled'."),
        ({"maxTurns": 5}, 8, "maxTurns: Input should be greater than or equal to 10."),
        ({"entrySkill": "No Such"}, 6, "entrySkill: String should match pattern"),
        ({"allowedTools": ["read", "read file"]}, 10, "allowedTools.1: "),
        ({"writes": ["../x"]}, 9, "paths are relative and stay in state/"),
        ({"stateFiles": ["/etc/passwd"]}, 9, "paths are relative and stay in state/"),
        ({"entrySkill": "dask"}, 6, "entrySkill names 'dask', and there is no folder skills/dask. Make"),
        ({"subSkills": [ORDERS]}, 10, "subSkills names 'orders', and there is no folder skills/orders."),
    ],
)
def test_a_mistake_in_the_manifest_is_told_with_its_line(
    tmp_path: Path, fields: dict[str, Any], line: int, told: str
) -> None:
    error = refused(write_package(tmp_path, **fields))

    assert (error.file, error.line) == ("agent.json", line)
    assert told in str(error)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('{\n  "id": "shop",\n}', 3, "not JSON at column 1: "),
        ("", 1, "not JSON at column 1: "),
        ("[]", 1, "the whole file: Input should be"),
        ("[" * 100_000, 0, "nested too deep"),
        (f'{{"id": {"9" * 5000}}}', 0, "a number is too long"),
        ('{\n\t"schemaVersion": 1,\n\t"nickname": "x",\n\t"id": "shop"\n}', 1, "label: Field required"),
    ],
)
def test_a_manifest_that_is_no_manifest_is_told_so(tmp_path: Path, text: str, line: int, told: str) -> None:
    error = refused(write_package(tmp_path, files={"agent.json": text}))

    assert (error.file, error.line) == ("agent.json", line)
    assert told in str(error)


def test_the_line_is_that_of_the_field_meant(tmp_path: Path) -> None:
    text = json.dumps({"subSkills": [{"id": "x"}], **manifest(), "id": "other"}, indent="\t")
    error = refused(write_package(tmp_path, files={"agent.json": text}))

    assert "the id is 'other', and the folder is 'shop'. Give both the same name." in str(error)
    assert error.line == 1 + next(n for n, line in enumerate(text.splitlines()) if '"other"' in line)


@pytest.mark.parametrize(
    ("file", "text", "line", "told"),
    [
        (DESK, "---\nname: desk\ndescription: [x\n---\nAnswer.", 3, "Put the YAML right."),
        (DESK, "---\nname: desk\n---\nAnswer.", 1, "no description"),
        (DESK, "---\ndescription: [a]\n---\nAnswer.", 1, "no description"),
        (DESK, "Answer.", 1, "no description"),
        (DESK, "---\ndescription: x\n---\n", 0, "nothing after the frontmatter"),
        (DESK, "x" * (MAX_TEXT + 1), 0, "larger than"),
        (WIRING, '{"subskills": []}', 1, "Did you mean 'subSkills'?"),
        (WIRING, '{"subSkills": [{"id": "Orders"}]}', 1, "subSkills.0.id"),
        (WIRING, '{"subSkills": [\n{"id": "orders"}]}', 2, "'orders' is not one of the agent's sub-skills. Add it"),
        (CASES, '{"cases": [{"name": "a", "input": ""}]}', 1, "cases.0.input"),
        (CASES, '{"cases": [{"name": "a", "input": "b",\n"expect": {"contain": []}}]}', 2, "Did you mean 'contains'?"),
        (CASES, '{"cases": [{"name": "a", "input": "b", "expect": {"matches": ["("]}}]}', 1, "regular expression"),
        (CASES, '{"cases": [', 1, "not JSON"),
    ],
)
def test_a_mistake_in_a_skill_is_told_with_its_line(tmp_path: Path, file: str, text: str, line: int, told: str) -> None:
    error = refused(write_package(tmp_path, files={file: text}))

    assert (error.file, error.line) == (file, line)
    assert told in str(error)


def test_a_file_that_is_not_there_or_not_text_is_told(tmp_path: Path) -> None:
    directory = write_package(tmp_path)
    (directory / DESK).write_bytes(b"---\ndescription: caf\xe9\n---\nx")
    assert (refused(directory).line, refused(directory).file) == (2, DESK)

    (directory / DESK).unlink()
    assert "the file is missing. Add it." in str(refused(directory))

    (directory / "agent.json").unlink()
    assert "agent.json: the file is missing." in str(refused(directory))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    directory = write_package(tmp_path)
    (directory / DESK).unlink()
    os.mkfifo(directory / DESK)
    assert "neither a file nor a folder" in str(refused(directory))

    (directory / "agent.json").unlink()
    os.mkfifo(directory / "agent.json")
    assert "not a file" in str(refused(directory))


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("agent.json", "../outside/agent.json"),
        ("skills", "../outside/skills"),
        ("skills/desk", "../../outside/skills/desk"),
        (DESK, "../../../outside/skills/desk/SKILL.md"),
        (DESK, "../../state/desk.md"),
        ("skills/desk/more.md", "/etc/hostname"),
        ("skills/desk/nowhere", "nowhere"),
    ],
)
def test_links_are_refused_wherever_they_lead(tmp_path: Path, link: str, target: str) -> None:
    write_package(tmp_path, "outside")
    (tmp_path / "outside" / "agent.json").write_text(json.dumps(manifest("shop")))
    directory = write_package(tmp_path, files={"state/desk.md": skill()})
    place = directory / link
    if place.is_dir():
        place.rename(tmp_path / "away")
    place.unlink(missing_ok=True)
    place.symlink_to(target)

    error = refused(directory)
    assert error.file == link
    assert "links are not followed" in str(error)


def test_the_package_itself_may_be_linked(tmp_path: Path) -> None:
    write_package(tmp_path / "elsewhere")
    (tmp_path / "shop").symlink_to(tmp_path / "elsewhere" / "shop")

    assert load_package(tmp_path / "shop", "user").id == "shop"


def test_what_an_editor_leaves_is_no_part_of_a_package(tmp_path: Path) -> None:
    directory = write_package(tmp_path)
    before = load_package(directory, "user").revision
    (directory / "skills/desk/.#SKILL.md").symlink_to("someone@somewhere")
    (directory / "skills/desk/.SKILL.md.swp").write_text("x")

    assert load_package(directory, "user").revision == before


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    directory = write_package(tmp_path)
    for number in range(MAX_FILES):
        (directory / "skills/desk" / f"{number}.md").touch()

    assert f"more than {MAX_FILES} files" in str(refused(directory))


def test_the_revision_follows_the_manifest_and_the_skills_and_nothing_else(tmp_path: Path) -> None:
    directory = write_package(tmp_path, files={"skills/desk/references/a.md": "one", "state/notes.json": "{}"})

    def revision() -> str:
        return load_package(directory, "user").revision

    first = revision()
    (directory / "state/notes.json").write_text("[]")
    (directory / "README.md").write_text("x")
    assert revision() == first

    seen = {first}
    (directory / "skills/desk/references/a.md").write_text("two")
    seen.add(revision())
    (directory / "skills/desk/references/a.md").rename(directory / "skills/desk/references/b.md")
    seen.add(revision())
    (directory / DESK).write_text(skill(body="Answer at length."))
    seen.add(revision())
    (directory / "agent.json").write_text(json.dumps(manifest(label="Other")))
    seen.add(revision())
    assert len(seen) == 5

    copied = write_package(tmp_path / "copy", files={"skills/desk/references/a.md": "one"})
    assert load_package(copied, "user").revision == first
