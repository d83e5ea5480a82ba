"""Whatever is asked for and whatever is on disk: nothing outside of the package, and nothing half made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents_runtime.loader import load_manifest, load_package
from agents_runtime.manifest import Manifest, is_identifier
from agents_runtime.registry import Registry
from builder_skill.desk import Desk
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import read_input
from channels.errors import PostroomError
from tests.builder_skill.desks import MINER, everything, use

AT_A_DESK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80)

odd = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["../x", "/etc", "a/../../b", "a\0b", "..", ".", "", "con.", "-", "ok", "A", "a b", "a" * 300]),
    st.lists(st.sampled_from(["a", "b", "..", ".", "", " ", "state", "conversations"]), max_size=5).map("/".join),
)
sound = st.from_regex(r"[a-z0-9]{1,6}(-[a-z0-9]{1,6})?", fullmatch=True)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


def requests(name: st.SearchStrategy[str], words: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """What agent_create may be asked for, with names and words of a kind."""
    steps = st.lists(st.fixed_dictionaries({"id": name, "description": st.text(max_size=40)}), max_size=3)
    return st.fixed_dictionaries(
        {"id": name, "description": words},
        optional={
            "label": words,
            "entrySkill": name,
            "status": st.sampled_from(["draft", "production", "disabled"]),
            "allowedTools": st.lists(st.sampled_from(["read", "execute_skill", "write_file", "gone?"]), max_size=3),
            "subSkills": steps,
            "stateFiles": st.lists(name.map("{}.json".format), max_size=3),
            "channelDefaults": st.dictionaries(st.text(max_size=8), plain, max_size=3),
            "overwrite": st.booleans(),
        },
    )


readable = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=60).map("x{}".format)
asked = st.one_of(requests(sound, readable), requests(st.one_of(sound, odd), st.text(max_size=60)))


def clean(desk: Desk) -> Path:
    """The home of a desk, with no package in it."""
    for folder in (desk.agents_dir, desk.kept_dir):
        shutil.rmtree(folder, ignore_errors=True)
    return desk.kept_dir.parent


def outside(before: dict[str, Any], after: dict[str, Any], inside: Path) -> dict[str, Any]:
    """What changed that is not below a folder."""
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return {path: after.get(path) for path in changed if not path.startswith(f"{inside}/")}


@AT_A_DESK
@given(asked=asked)
async def test_what_is_made_is_valid_and_what_is_not_leaves_nothing(desk: Desk, asked: dict[str, Any]) -> None:
    home = clean(desk)
    before = everything(home)
    try:
        made = await use(desk, "agent_create", **asked)
    except PostroomError as error:
        assert error.fix
        assert everything(home) == before
        assert not desk.agents_dir.exists() or not list(desk.agents_dir.iterdir())
        return
    folder = desk.agents_dir / asked["id"]
    assert is_identifier(asked["id"])
    assert outside(before, everything(home), folder) == {}
    assert load_package(folder, "user").revision == made["revision"]
    found = await use(desk, "agent_validate", id=asked["id"])
    assert found["valid"], found
    assert sorted(made["files"]) == sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@AT_A_DESK
@given(path=odd.flatmap(lambda p: st.sampled_from([p, f"state/{p}", f"skills/{p}"])), content=st.text(max_size=50))
async def test_what_is_written_is_inside_and_whole(desk: Desk, path: str, content: str) -> None:
    home = clean(desk)
    await use(desk, "agent_create", **MINER)
    folder, before = desk.agents_dir / "meeting-miner", everything(home)
    call = {"id": "meeting-miner", "path": path, "content": content}
    try:
        shown = await CATALOGUE["agent_write_file"].preview(desk, read_input(CATALOGUE["agent_write_file"], call))
        assert everything(home) == before
        await use(desk, "agent_write_file", **call)
    except PostroomError:
        assert everything(home) == before
        return
    after = everything(home)
    changed = [p for p in after if after[p] != before.get(p)]
    assert outside(before, after, folder) == {}
    assert len(changed) == 1
    assert after[changed[0]] == content.encode()
    assert str(Path(changed[0]).relative_to(folder)) in shown


@AT_A_DESK
@given(changes=st.dictionaries(st.sampled_from([f.alias or n for n, f in Manifest.model_fields.items()]), plain))
async def test_a_manifest_stays_one_whatever_is_changed(desk: Desk, changes: dict[str, Any]) -> None:
    home = clean(desk)
    revision = (await use(desk, "agent_create", **MINER))["revision"]
    folder, before = desk.agents_dir / "meeting-miner", everything(home)
    was = load_manifest(folder)
    try:
        await use(desk, "agent_update_manifest", **{**changes, "id": "meeting-miner", "revision": revision})
    except PostroomError:
        assert everything(home) == before
        return
    after = everything(home)
    now = load_manifest(folder)
    assert outside(before, after, folder) == {}
    assert {p for p in after if after[p] != before.get(p)} <= {f"{folder}/agent.json"}
    kept = {n for n, f in Manifest.model_fields.items() if f.alias not in changes}
    assert {n: getattr(now, n) for n in kept} == {n: getattr(was, n) for n in kept}


@AT_A_DESK
@given(
    content=st.one_of(st.binary(max_size=60), plain.map(lambda value: json.dumps(value).encode())),
    path=st.sampled_from(
        [
            "agent.json",
            "README.md",
            "skills/meeting-miner/SKILL.md",
            "skills/meeting-miner/sub-skills.json",
            "skills/meeting-miner-parser/benchmarks.json",
            "skills/loose",
            "state/meeting-log.json",
            "state/conversations/x/notes.json",
        ]
    ),
)
async def test_whatever_is_on_disk_is_told_and_not_raised(desk: Desk, content: bytes, path: str) -> None:
    clean(desk)
    await use(desk, "agent_create", **MINER)
    file = desk.agents_dir / "meeting-miner" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    found = await use(desk, "agent_validate", id="meeting-miner")
    read = await use(desk, "agent_read", id="meeting-miner")
    await use(desk, "agent_diff", id="meeting-miner")
    assert bool(read["problem"]) <= (not found["valid"])
    assert ("conversations" in json.dumps(read)) is False
    entry = next(e for e in Registry(desk.registry._given).entries() if e.id == "meeting-miner")
    assert bool(entry.problem) <= (not found["valid"])
