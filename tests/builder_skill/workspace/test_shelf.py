"""Packages come and go whole, whoever else is at it and whenever a process dies."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from builder_skill.desk import Desk
from builder_skill.workspace import shelf
from builder_skill.workspace.kept import deployed, keep_deployed
from tests.builder_skill.desks import MINER, everything, use

SCRIPT = """
import dataclasses, os, signal, sys
from pathlib import Path
from agents_runtime.registry import Registry
from builder_skill.desk import Desk
from builder_skill.workspace import shelf
from channels.errors import PostroomError
home, how = Path(sys.argv[1]), sys.argv[2]
desk = Desk(Registry([]), home / "agents", home / "kept", {}, None, None)
def die(path, text, write=shelf._write, seen=[]):
    seen.append(path)
    if len(seen) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, text)
if how == "die":
    shelf._write = die
print("ready", flush=True)
sys.stdin.readline()
try:
    shelf.put_whole(desk, "meeting-miner", {f"skills/{n}": how for n in range(30)}, overwrite=False)
    print("won", flush=True)
except PostroomError as error:
    print(error.code, flush=True)
"""


def start(home: Path, how: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(shelf.__file__).parents[2])}
    command = [sys.executable, "-c", SCRIPT, str(home), how]
    process = subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=env)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_of_two_processes_one_wins_and_the_other_is_told(tmp_path: Path) -> None:
    racing = {how: start(tmp_path, how) for how in ("one", "two", "three")}
    for process in racing.values():
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = {how: process.communicate()[0].strip() for how, process in racing.items()}
    assert sorted(said.values()) == ["agent_exists", "agent_exists", "won"]
    winner = next(how for how, word in said.items() if word == "won")
    assert [p.name for p in (tmp_path / "agents").iterdir()] == ["meeting-miner"]
    package = tmp_path / "agents/meeting-miner"
    assert {p.read_text() for p in package.rglob("*") if p.is_file()} == {winner}
    assert len(list((package / "skills").iterdir())) == 30


async def test_a_process_killed_in_the_middle_leaves_nothing_that_is_listed(desk: Desk) -> None:
    process = start(desk.kept_dir.parent, "die")
    process.communicate("\n")
    assert process.returncode == -signal.SIGKILL
    (left,) = desk.agents_dir.iterdir()
    assert left.name.startswith(".making-")
    listed = await use(desk, "agent_list")
    assert "making" not in str(listed)
    await use(desk, "agent_create", **MINER)
    assert left.exists()  # it may still be somebody's
    os.utime(left, (0, 0))
    await use(desk, "agent_create", **{**MINER, "id": "another"})
    assert sorted(p.name for p in desk.agents_dir.iterdir()) == ["another", "meeting-miner"]


async def test_replacing_takes_turns(desk: Desk) -> None:
    def work(number: int) -> str:
        return shelf.put_whole(desk, "meeting-miner", {"README.md": str(number)}, overwrite=True)

    names = await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(8)))
    assert sorted(names) == ["", *sorted(p.name for p in (desk.kept_dir / "trash").iterdir())]
    assert [p.name for p in desk.agents_dir.iterdir()] == ["meeting-miner"]


async def test_what_the_disk_refuses_is_told(desk: Desk) -> None:
    desk.agents_dir.write_text("in the way")
    with pytest.raises(shelf.NotWritten) as caught:
        await use(desk, "agent_create", **MINER)
    assert caught.value.fix


async def test_a_replacement_that_fails_puts_the_old_one_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await use(desk, "agent_create", **MINER)
    before, rename = everything(desk.agents_dir), Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.startswith(shelf.UNFINISHED):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(shelf.NotWritten, match="Input/output"):
        await use(desk, "agent_create", **MINER, overwrite=True)
    assert everything(desk.agents_dir) == before


async def test_the_newest_comes_back_from_the_trash(desk: Desk) -> None:
    for text in ("first", "second"):
        await use(desk, "agent_create", **MINER)
        await use(desk, "agent_write_file", id="meeting-miner", path="README.md", content=text)
        await use(desk, "agent_delete", id="meeting-miner")
    await use(desk, "agent_restore", id="meeting-miner")
    assert (desk.agents_dir / "meeting-miner/README.md").read_text() == "second"
    with pytest.raises(shelf.AgentExists):
        await use(desk, "agent_restore", id="meeting-miner")


async def test_a_single_file_of_that_id_keeps_the_trash_shut(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    await use(desk, "agent_delete", id="meeting-miner")
    (desk.agents_dir / "meeting-miner.md").write_text("---\nname: meeting-miner\ndescription: x\n---\nHi.")
    with pytest.raises(shelf.AgentExists):
        await use(desk, "agent_restore", id="meeting-miner")
    assert not (desk.agents_dir / "meeting-miner").exists()


async def test_what_was_deployed_is_kept_whole_and_without_state(desk: Desk) -> None:
    await use(desk, "agent_create", **MINER)
    package = desk.registry.get("meeting-miner")
    keep_deployed(desk, package)
    found = deployed(desk, "meeting-miner")
    assert found is not None
    assert found[0] == package.revision
    assert not [path for path in found[1] if path.startswith("state/")]
    assert [p.name for p in (desk.kept_dir / "deployed").iterdir()] == ["meeting-miner"]
