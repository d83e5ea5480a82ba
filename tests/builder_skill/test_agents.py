"""Making, changing, checking and taking away packages of the user's own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agents_runtime.loader import load_package
from builder_skill.desk import Desk
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import read_input
from builder_skill.workspace import shelf
from builder_skill.workspace.files import PathRefused, put, writable
from builder_skill.workspace.kept import keep_deployed
from builder_skill.workspace.shelf import Changed
from channels.errors import PostroomError
from tests.builder_skill.desks import MINER, a_desk, everything, use
from tests.builder_skill.workspace.test_secrets import SECRETS


async def refused(desk: Desk, name: str, code: str, **arguments: Any) -> PostroomError:
    """The error of a call that must write nothing, and must preview nothing either."""
    before = everything(desk.kept_dir.parent)
    tool = CATALOGUE[name]
    with pytest.raises(PostroomError) as caught:
        await use(desk, name, **arguments)
    assert caught.value.code == code, caught.value
    assert caught.value.fix
    if tool.preview is not None and code != "arguments_invalid":
        with pytest.raises(PostroomError):
            await tool.preview(desk, read_input(tool, arguments))
    assert everything(desk.kept_dir.parent) == before
    return caught.value


async def test_a_package_with_sub_skills_and_state_is_scaffolded_whole(desk: Desk) -> None:
    made = await use(desk, "agent_create", **MINER)
    folder = desk.agents_dir / "meeting-miner"
    assert sorted(made["files"]) == sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    package = load_package(folder, "user")
    assert [*package.skills] == ["meeting-miner", "meeting-miner-parser", "meeting-miner-writer"]
    assert package.entry.sub_skills == ("meeting-miner-parser", "meeting-miner-writer")
    assert json.loads((folder / "state/meeting-log.json").read_text()) == {}
    assert json.loads((folder / "skills/meeting-miner/benchmarks.json").read_text()) == {"cases": []}
    found = await use(desk, "agent_validate", id="meeting-miner")
    assert (found["valid"], found["errors"]) == (True, 0)
    assert {c["severity"] for c in found["checks"]} == {"ok"}
    assert made["revision"] == found["revision"] == package.revision


async def test_listing_tells_names_and_no_folders(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    listed = await use(desk, "agent_list")
    (line,) = [a for a in listed["agents"] if a["id"] == "meeting-miner"]
    assert set(line) == {"id", "label", "description", "entrySkill", "status", "source"}
    assert str(desk.agents_dir) not in json.dumps(listed)


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("name_invalid", {"id": "Meeting Miner"}),
        ("name_invalid", {"id": "../../etc"}),
        ("name_invalid", {"id": "a" * 65}),
        ("name_invalid", {"id": ""}),
        ("name_invalid", {"entrySkill": "../x"}),
        ("name_invalid", {"subSkills": [{"id": "meeting-miner"}]}),
        ("arguments_invalid", {"subSkills": [{"id": "../../x"}]}),
        ("arguments_invalid", {"stateFiles": ["../../.ssh/authorized_keys"]}),
        ("arguments_invalid", {"stateFiles": ["/etc/passwd"]}),
        ("arguments_invalid", {"description": ""}),
        ("arguments_invalid", {"description": " \n"}),
        ("arguments_invalid", {"label": "a\0b"}),
        ("arguments_invalid", {"prompt": "x"}),
        ("agent_invalid", {"description": "Reads ~/notes/today.md every morning."}),
        ("path_refused", {"stateFiles": ["."]}),
        ("path_refused", {"stateFiles": ["a/"]}),
        ("path_refused", {"stateFiles": ["a//b"]}),
        ("path_refused", {"stateFiles": ["a:b"]}),
        ("path_refused", {"stateFiles": [".hidden"]}),
        ("path_refused", {"stateFiles": ["a" * 300]}),
        ("path_refused", {"stateFiles": ["conversations/x.json"]}),
        ("name_invalid", {"stateFiles": ["a", "a/b"]}),
        ("name_invalid", {"stateFiles": ["log.json", "LOG.json"]}),
        ("agent_exists", {"id": "front-desk"}),
        ("agent_exists", {"id": "front-desk", "overwrite": True}),
        ("tool_unknown", {"allowedTools": ["raed"]}),
        ("tool_unknown", {"allowedTools": ["agent_create"]}),
        ("secret_found", {"description": f"Use {SECRETS[0]}."}),
        ("secret_found", {"channelDefaults": {"key": SECRETS[4]}}),
    ],
)
async def test_what_can_not_be_made_leaves_nothing(desk: Desk, code: str, changes: dict[str, Any]) -> None:
    error = await refused(desk, "agent_create", code, **{**MINER, **changes})
    assert not any(secret in str(error) for secret in SECRETS)
    if changes.get("allowedTools") == ["raed"]:
        assert "Did you mean read" in error.fix


async def test_an_existing_id_is_replaced_only_on_purpose_and_goes_to_the_trash(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    await use(desk, "agent_write_file", id="meeting-miner", path="README.md", content="mine")
    await refused(desk, "agent_create", "agent_exists", **MINER)
    again = await use(desk, "agent_create", **MINER, overwrite=True)
    assert (desk.kept_dir / "trash" / again["trashed"] / "README.md").read_text() == "mine"
    await use(desk, "agent_delete", id="meeting-miner")
    assert not (desk.agents_dir / "meeting-miner").exists()
    await use(desk, "agent_restore", id="meeting-miner")
    assert "Meeting Miner" in (desk.agents_dir / "meeting-miner/README.md").read_text()
    await refused(desk, "agent_restore", "agent_exists", id="meeting-miner")


async def test_a_link_in_the_place_of_a_package_is_never_followed(desk: Desk, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    desk.agents_dir.mkdir(parents=True)
    (desk.agents_dir / "meeting-miner").symlink_to(elsewhere)
    await refused(desk, "agent_create", "agent_exists", **MINER, overwrite=True)
    assert list(elsewhere.iterdir()) == []


async def test_a_failure_in_the_middle_leaves_nothing_and_the_old_one_in_place(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await use(desk, "agent_create", **MINER)
    before = everything(desk.agents_dir)
    real, written = shelf._write, []

    def fail_late(path: Path, text: str) -> None:
        written.append(path)
        if len(written) > 3:
            raise OSError(28, "No space left on device")
        real(path, text)

    monkeypatch.setattr(shelf, "_write", fail_late)
    with pytest.raises(shelf.NotWritten, match="No space"):
        await use(desk, "agent_create", **MINER, overwrite=True)
    assert everything(desk.agents_dir) == before


async def test_two_that_create_one_id_at_once_have_one_winner(desk: Desk, tmp_path: Path) -> None:
    async with a_desk(tmp_path / "home") as other:
        results = await asyncio.gather(
            *(use(d, "agent_create", **MINER) for d in (desk, other) * 4), return_exceptions=True
        )
    assert sum(isinstance(r, dict) for r in results) == 1
    assert {r.code for r in results if isinstance(r, PostroomError)} == {"agent_exists"}
    assert [p.name for p in desk.agents_dir.iterdir()] == ["meeting-miner"]


async def test_those_that_take_away_or_bring_back_at_once_have_one_winner(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    for name, code in (("agent_delete", "agent_missing"), ("agent_restore", "agent_exists")):
        results = await asyncio.gather(*(use(desk, name, id="meeting-miner") for _ in range(6)), return_exceptions=True)
        assert sum(isinstance(r, dict) for r in results) == 1
        assert {r.code for r in results if isinstance(r, PostroomError)} == {code}
        assert not [r for r in results if not isinstance(r, dict | PostroomError)]


async def test_words_are_put_on_one_line_and_blank_steps_named(desk: Desk) -> None:
    odd = {"label": " A\n---\nB ", "description": "One:\n two", "subSkills": [{"id": "step", "description": "\n"}]}
    await use(desk, "agent_create", **{**MINER, **odd})
    package = load_package(desk.agents_dir / "meeting-miner", "user")
    assert (package.manifest.label, package.manifest.description) == ("A --- B", "One: two")
    assert package.skills["step"].description == "A step of A --- B."


async def test_live_state_of_people_is_left_alone(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    live = desk.agents_dir / "meeting-miner/state/conversations/one/notes.json"
    live.parent.mkdir(parents=True)
    live.write_text(f"not JSON: {SECRETS[0]}")
    assert (await use(desk, "agent_validate", id="meeting-miner"))["valid"]
    assert "conversations" not in json.dumps(await use(desk, "agent_read", id="meeting-miner"))
    path = "state/conversations/one/notes.json"
    await refused(desk, "agent_write_file", "path_refused", id="meeting-miner", path=path, content="{}")


async def test_a_broken_package_is_still_read(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    (desk.agents_dir / "meeting-miner/skills/meeting-miner/SKILL.md").unlink()
    (desk.agents_dir / "meeting-miner/state/picture.png").write_bytes(b"\x89PNG\xff")
    read = await use(desk, "agent_read", id="meeting-miner")
    assert "SKILL.md" in read["problem"]
    assert read["manifest"]["id"] == "meeting-miner"
    (picture,) = [f for f in read["files"] if f["path"] == "state/picture.png"]
    assert (picture["text"], picture["size"]) == (None, 5)


async def test_reading_names_what_can_be_changed_and_how(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    read = await use(desk, "agent_read", id="meeting-miner")
    how = {f["path"]: f["editableWith"] for f in read["files"]}
    assert how["agent.json"] == "agent_update_manifest"
    assert how["skills/meeting-miner/SKILL.md"] == "agent_write_file"
    assert read["manifest"]["entrySkill"] == "meeting-miner"
    assert str(desk.agents_dir) not in json.dumps(read)
    await refused(desk, "agent_read", "agent_not_yours", id="front-desk")
    await refused(desk, "agent_read", "agent_missing", id="meeting-minor")


def _changes(seen: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "meeting-miner", "revision": seen["revision"], **fields}


def _update(seen: dict[str, Any], **fields: Any) -> Any:
    return read_input(CATALOGUE["agent_update_manifest"], _changes(seen, **fields))


async def test_a_manifest_is_changed_from_the_revision_that_was_read(desk: Desk) -> None:
    revision = (await use(desk, "agent_create", **MINER))["revision"]
    changed = await use(
        desk, "agent_update_manifest", id="meeting-miner", revision=revision, maxTurns=50, status="draft"
    )
    manifest = load_package(desk.agents_dir / "meeting-miner", "user").manifest
    assert (manifest.max_turns, manifest.status, manifest.label) == (50, "draft", "Meeting Miner")
    await refused(desk, "agent_update_manifest", "revision_stale", id="meeting-miner", revision=revision, maxTurns=60)
    assert "maxTurns" not in (await CATALOGUE["agent_update_manifest"].preview(desk, _update(changed, label="New")))
    changed = await use(desk, "agent_update_manifest", **_changes(changed, language="French", writes=["*.json"]))
    changed = await use(desk, "agent_update_manifest", **_changes(changed, language=None, label=None))
    manifest = load_package(desk.agents_dir / "meeting-miner", "user").manifest
    assert (manifest.language, manifest.writes, manifest.label) == (None, ("*.json",), "Meeting Miner")
    for code, change in (
        ("name_invalid", {"subSkills": [{"id": "meeting-miner"}]}),
        ("path_refused", {"stateFiles": ["senders/x"]}),
        ("tool_unknown", {"allowedTools": ["shell"]}),
        ("secret_found", {"description": SECRETS[1]}),
        ("manifest_invalid", {"maxTurns": 5}),
    ):
        await refused(desk, "agent_update_manifest", code, id="meeting-miner", revision=changed["revision"], **change)


@pytest.mark.parametrize(
    "path",
    ["agent.json", "../x", "skills/../../x", "/etc/passwd", "state", "", "x.md", ".git/config", "skills/.x/SKILL.md"],
)
async def test_a_file_outside_of_the_package_is_never_written(desk: Desk, path: str) -> None:
    await use(desk, "agent_create", **MINER)
    await refused(desk, "agent_write_file", "path_refused", id="meeting-miner", path=path, content="x")


async def test_files_are_written_with_the_same_rules(desk: Desk, tmp_path: Path) -> None:
    revision = (await use(desk, "agent_create", **MINER))["revision"]
    entry = "skills/meeting-miner/SKILL.md"
    text = "---\nname: meeting-miner\ndescription: x\n---\nBe brief.\n"
    await use(desk, "agent_write_file", id="meeting-miner", path=entry, content=text, revision=revision)
    assert (desk.agents_dir / "meeting-miner" / entry).read_text() == text
    again = {"id": "meeting-miner", "path": entry, "content": "y"}
    await refused(desk, "agent_write_file", "revision_stale", **again, revision=revision)
    await refused(desk, "agent_write_file", "secret_found", **{**again, "content": f"Use {SECRETS[2]}"})
    (desk.agents_dir / "meeting-miner/state/out").symlink_to(tmp_path)
    await refused(desk, "agent_write_file", "path_refused", id="meeting-miner", path="state/out/x", content="x")


@pytest.mark.parametrize("before", [b"a\r\nb\r\n", b"\xef\xbb\xbfa\n", b"\xff\xfe\0", b"x" * 300_000, b""])
async def test_a_file_is_replaced_whatever_bytes_it_has(desk: Desk, before: bytes) -> None:
    await use(desk, "agent_create", **MINER)
    file = desk.agents_dir / "meeting-miner/state/notes.txt"
    file.write_bytes(before)
    await use(desk, "agent_write_file", id="meeting-miner", path="state/notes.txt", content="a\r\nnew\n")
    assert file.read_bytes() == b"a\r\nnew\n"


async def test_a_manifest_with_other_line_ends_is_changed(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    file = desk.agents_dir / "meeting-miner/agent.json"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    seen = await use(desk, "agent_read", id="meeting-miner")
    await use(desk, "agent_update_manifest", **_changes(seen, label="New"))
    assert load_package(file.parent, "user").manifest.label == "New"


@pytest.mark.parametrize("before", [b"old", None])
async def test_what_was_written_meanwhile_is_not_overwritten(desk: Desk, before: bytes | None) -> None:
    await use(desk, "agent_create", **MINER)
    place = writable(desk.agents_dir / "meeting-miner", "state/notes.txt")
    file = desk.agents_dir / "meeting-miner/state/notes.txt"
    file.write_bytes(b"somebody else's")
    with pytest.raises(Changed):
        put(place, b"mine", before)
    file.unlink()
    with pytest.raises(Changed):
        put(place, b"mine", b"old")
    assert not file.exists()


async def test_a_package_that_is_a_link_is_not_written_through(desk: Desk, tmp_path: Path) -> None:
    await use(desk, "agent_create", **MINER)
    directory = desk.agents_dir / "meeting-miner"
    place = writable(directory, "README.md")
    directory.rename(tmp_path / "moved")
    directory.symlink_to(tmp_path / "moved")
    before = everything(tmp_path)
    with pytest.raises(PathRefused):
        put(place, b"x", (tmp_path / "moved/README.md").read_bytes())
    assert everything(tmp_path) == before


async def test_a_preview_is_what_is_written_and_writes_nothing(desk: Desk) -> None:
    before = everything(desk.kept_dir.parent)
    tool = CATALOGUE["agent_create"]
    shown = await tool.preview(desk, read_input(tool, MINER))
    assert everything(desk.kept_dir.parent) == before
    made = await use(desk, "agent_create", **MINER)
    assert all(f"+++ b/{path}" in shown for path in made["files"])


async def test_every_change_is_shown_before_it_is_made(desk: Desk) -> None:
    made = await use(desk, "agent_create", **MINER)
    miner = {"id": "meeting-miner"}
    for name, arguments, told in (
        ("agent_create", {**MINER, "description": "Other.", "overwrite": True}, '+  "description": "Other.",'),
        ("agent_write_file", {**miner, "path": "README.md", "content": "New.\n"}, "+New."),
        ("agent_write_file", {**miner, "path": "state/new.md", "content": "New.\n"}, "--- /dev/null"),
        ("agent_update_manifest", _changes(made, status="draft"), '-  "status": "production",'),
        ("agent_delete", miner, "(13 files)"),
    ):
        before = everything(desk.kept_dir.parent)
        shown = await CATALOGUE[name].preview(desk, read_input(CATALOGUE[name], arguments))
        assert told in shown, shown
        assert everything(desk.kept_dir.parent) == before
    await use(desk, "agent_delete", **miner)
    shown = await CATALOGUE["agent_restore"].preview(desk, read_input(CATALOGUE["agent_restore"], miner))
    assert "back from the trash" in shown
    assert not (desk.agents_dir / "meeting-miner").exists()


BROKEN: list[tuple[str, str, str]] = [
    ("hardcoded_path", "README.md", "file:///home/me/notes"),
    ("hardcoded_path", "README.md", "It is under %APPDATA%."),
    (
        "skill_field_unknown",
        "skills/meeting-miner/SKILL.md",
        "---\nname: meeting-miner\ndescription: x\nfoo: y\n---\nB",
    ),
    (
        "skill_compatibility_long",
        "skills/meeting-miner/SKILL.md",
        f"---\nname: meeting-miner\ndescription: x\ncompatibility: {'x' * 501}\n---\nB",
    ),
    ("hardcoded_path", "skills/meeting-miner/SKILL.md", "Read ~/.postroom/agents/meeting-miner/state/a.json."),
    ("hardcoded_path", "README.md", "See $HOME/agents/x."),
    ("hardcoded_path", "skills/meeting-miner/SKILL.md", "Write to ${POSTROOM_HOME}/agents."),
    ("hardcoded_path", "README.md", "cat ~/.bot0-dev/agents/meeting-miner/agent.json"),
    ("hardcoded_path", "README.md", "It is in /srv/data/agents/meeting-miner."),
    ("hardcoded_path", "README.md", r"C:\Users\me\notes"),
    ("secret_found", "README.md", f"Token: {SECRETS[0]}"),
    ("skill_name_mismatch", "skills/meeting-miner/SKILL.md", "---\nname: other\ndescription: x\n---\nBody"),
    ("skill_description_missing", "skills/meeting-miner/SKILL.md", "---\nname: meeting-miner\n---\nBody"),
    ("skill_invalid", "skills/meeting-miner/SKILL.md", "---\nname: [\n---\nBody"),
    ("skill_empty", "skills/meeting-miner/SKILL.md", "---\nname: meeting-miner\ndescription: x\n---\n"),
    ("sub_skill_undeclared", "skills/extra/SKILL.md", "---\nname: extra\ndescription: x\n---\nBody"),
    ("sub_skill_missing", "skills/meeting-miner/sub-skills.json", '{"subSkills": [{"id": "nothing"}]}'),
    ("benchmarks_invalid", "skills/meeting-miner/benchmarks.json", '{"cases": [{"name": "x"}]}'),
    ("state_invalid", "state/meeting-log.json", "{"),
    ("manifest_invalid", "agent.json", '{\n"id": 3}'),
    (
        "tool_unknown",
        "agent.json",
        json.dumps({"schemaVersion": 1, **MINER, "entrySkill": "meeting-miner", "allowedTools": ["x"]}),
    ),
    ("entry_skill_missing", "agent.json", json.dumps({"schemaVersion": 1, **MINER, "entrySkill": "gone"})),
    (
        "sub_skill_missing",
        "agent.json",
        json.dumps({"schemaVersion": 1, **MINER, "entrySkill": "meeting-miner", "subSkills": [{"id": "gone"}]}),
    ),
    (
        "sub_skills_unreachable",
        "agent.json",
        json.dumps({"schemaVersion": 1, **MINER, "entrySkill": "meeting-miner", "allowedTools": ["read"]}),
    ),
    (
        "state_missing",
        "agent.json",
        json.dumps({"schemaVersion": 1, **MINER, "entrySkill": "meeting-miner", "stateFiles": ["gone.json"]}),
    ),
]


@pytest.mark.parametrize(("code", "path", "text"), BROKEN)
async def test_each_check_finds_what_it_is_for(desk: Desk, code: str, path: str, text: str) -> None:
    await use(desk, "agent_create", **MINER)
    file = desk.agents_dir / "meeting-miner" / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    found = await use(desk, "agent_validate", id="meeting-miner")
    (check, *_) = [c for c in found["checks"] if c["code"] == code]
    assert check["file"] == path
    assert check["fix"]
    assert found["valid"] == (check["severity"] == "warning")
    assert not any(secret in json.dumps(found) for secret in SECRETS)


@pytest.mark.parametrize(
    "text",
    [
        "See https://example.com/api/agents/list and https://example.com/home/me/x.",
        "GET /api/agents/1, POST /v1/agents/x/root/y",
        "It takes ~5/10 minutes and/or more.",
        "https://docs.example/root/agents/x",
        "skills/home/agents/x and state/var/agents/y",
    ],
)
async def test_an_address_is_no_path_of_a_machine(desk: Desk, text: str) -> None:
    await use(desk, "agent_create", **MINER)
    await use(desk, "agent_write_file", id="meeting-miner", path="README.md", content=text)
    assert (await use(desk, "agent_validate", id="meeting-miner"))["valid"]


async def test_where_packages_are_is_never_written_in_one(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    text = f"Look at {desk.agents_dir}/meeting-miner."
    await use(desk, "agent_write_file", id="meeting-miner", path="README.md", content=text)
    assert not (await use(desk, "agent_validate", id="meeting-miner"))["valid"]


async def test_a_long_prompt_is_over_its_budget(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    text = "---\nname: meeting-miner\ndescription: x\n---\n" + "Say many different words here. " * 500
    await use(desk, "agent_write_file", id="meeting-miner", path="skills/meeting-miner/SKILL.md", content=text)
    found = await use(desk, "agent_validate", id="meeting-miner")
    assert [c["code"] for c in found["checks"] if c["severity"] == "warning"] == ["prompt_over_budget"]


async def test_what_changed_since_the_last_deploy(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    never = await use(desk, "agent_diff", id="meeting-miner")
    assert (never["deployedRevision"], "+++ b/agent.json" in never["diff"]) == (None, True)
    keep_deployed(desk, desk.registry.get("meeting-miner"))
    same = await use(desk, "agent_diff", id="meeting-miner")
    assert (same["diff"], same["deployedRevision"]) == ("", same["revision"])
    await use(desk, "agent_write_file", id="meeting-miner", path="README.md", content="New\n")
    assert "+New" in (await use(desk, "agent_diff", id="meeting-miner"))["diff"]
    keep_deployed(desk, desk.registry.get("meeting-miner"))
    assert (await use(desk, "agent_diff", id="meeting-miner"))["diff"] == ""
