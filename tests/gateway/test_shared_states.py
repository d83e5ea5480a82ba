"""State that several gateways share: two of them on one ledger, each with copies of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agents_runtime.package import AgentPackage
from agents_runtime.registry import Registry, Root
from agents_runtime.state import folder_of
from agents_runtime.tools.confine import FileChanged
from gateway.erasing import erase_person
from gateway.ledger.errors import LeaseLost, LedgerUnavailable
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Finish, StateFile, Turn
from gateway.ledger.sqlite import open_sqlite
from gateway.settings import Settings
from gateway.shared_states import SharedStates
from gateway.states import State
from tests.agents_runtime.packages import write_package
from tests.gateway.ledger.support import OTHER, claim, message

NOTES = "notes.md"


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    async with open_sqlite(tmp_path / "ledger.db", worker=True) as opened:
        yield opened


@pytest.fixture
async def turns(ledger: Ledger) -> list[Turn]:
    await ledger.accept([message(1), message(2, OTHER)])
    return await claim(ledger)


def package(tmp_path: Path, **fields: object) -> AgentPackage:
    write_package(tmp_path / "agents", "shop", {f"state/{NOTES}": "begin"}, **{"stateScope": "agent", **fields})
    return Registry([Root(tmp_path / "agents", "user")]).get("shop")


def here(tmp_path: Path, ledger: Ledger) -> SharedStates:
    return SharedStates(ledger, Settings(tmp_path / "home"))


def notes(state: State) -> str:
    return (state.folder / NOTES).read_text()


async def append(state: State, text: str) -> None:
    async with state.guard(writes=True):
        (state.folder / NOTES).write_text(f"{notes(state)} {text}")


async def look(state: State) -> str:
    async with state.guard(writes=False):
        return notes(state)


@asynccontextmanager
async def both(tmp_path: Path, ledger: Ledger, turns: list[Turn], **fields: object):
    """The same state on two gateways."""
    agent = package(tmp_path, **fields)
    one, two = here(tmp_path, ledger), here(tmp_path, ledger)
    async with one.open(turns[0], agent, "u1") as first, two.open(turns[1], agent, "u1") as second:
        yield first, second


async def test_what_one_writes_the_other_reads(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    async with both(tmp_path, ledger, turns) as (first, second):
        assert first.folder != second.folder
        assert (await look(first), await look(second)) == ("begin", "begin")
        await append(first, "one")
        await append(second, "two")
        assert (await look(first), await look(second)) == ("begin one two", "begin one two")
    assert (tmp_path / "agents/shop/state" / NOTES).read_text() == "begin", "the package stays as it is"


async def test_each_conversation_has_its_own_unless_the_agent_says_otherwise(
    tmp_path: Path, ledger: Ledger, turns: list[Turn]
):
    async with both(tmp_path, ledger, turns, stateScope="conversation") as (first, second):
        await append(first, "one")
        assert (await look(first), await look(second)) == ("begin one", "begin")
    async with both(tmp_path, ledger, turns, stateScope="sender") as (first, second):
        await append(first, "one")
        assert await look(second) == "begin one"


async def test_of_two_that_write_at_once_the_slower_is_told(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    async with both(tmp_path, ledger, turns) as (first, second):

        async def overtaken() -> None:
            async with first.guard(writes=True):
                (first.folder / NOTES).write_text("begin mine")
                await append(second, "theirs")

        with pytest.raises(FileChanged) as told:
            await overtaken()
        assert "state/notes.md" in str(told.value)
        assert (notes(first), await look(second)) == ("begin theirs", "begin theirs")
        await append(first, "mine")
        assert await look(second) == "begin theirs mine"


async def test_a_new_file_is_compared_too(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    async with both(tmp_path, ledger, turns) as (first, second):

        async def overtaken() -> None:
            async with first.guard(writes=True):
                (first.folder / "new").mkdir()
                (first.folder / "new/file").write_text("mine")
                async with second.guard(writes=True):
                    (second.folder / "new").mkdir()
                    (second.folder / "new/file").write_text("theirs")

        with pytest.raises(FileChanged):
            await overtaken()
        assert (first.folder / "new/file").read_text() == "theirs"


async def test_a_gateway_that_lost_its_turn_writes_nothing(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    async with both(tmp_path, ledger, turns) as (first, second):
        await ledger.finish(turns[0], Finish("answered"))
        with pytest.raises(LeaseLost):
            await append(first, "too late")
        assert (notes(first), await look(second)) == ("begin", "begin")


async def test_a_call_that_fails_leaves_nothing_behind(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    async with both(tmp_path, ledger, turns) as (first, second):

        async def fail() -> None:
            async with first.guard(writes=True):
                (first.folder / NOTES).write_text("half")
                (first.folder / "more").write_text("half")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await fail()
        assert not (first.folder / "more").exists()
        await append(first, "whole")
        assert await look(second) == "begin whole"


async def test_a_write_whose_answer_was_lost_counts_once(
    tmp_path: Path, ledger: Ledger, turns: list[Turn], monkeypatch: pytest.MonkeyPatch
):
    put, tries = ledger.put_state, list[int]()

    async def lossy(turn: Turn, agent_id: str, folder: str, path: str, file: StateFile) -> None:
        tries.append(file.version)
        await put(turn, agent_id, folder, path, file)
        if len(tries) == 1:
            raise LedgerUnavailable("The network was cut.")

    monkeypatch.setattr(ledger, "put_state", lossy)
    monkeypatch.setattr("gateway.patience.FIRST_WAIT", 0.0)
    async with both(tmp_path, ledger, turns) as (first, second):
        await append(first, "once")
        assert (await look(first), await look(second)) == ("begin once", "begin once")
    assert tries == [2, 2]


async def test_what_was_kept_in_the_home_before_goes_on(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    agent = package(tmp_path, stateScope="sender")
    folder = agent.directory / "state" / folder_of(agent, turns[0].conversation, "u1")
    folder.mkdir(parents=True)
    (folder / NOTES).write_text("from before")
    async with here(tmp_path, ledger).open(turns[0], agent, "u1") as state:
        assert await look(state) == "from before"
    shared = replace(agent, manifest=agent.manifest.model_copy(update={"state_scope": "agent"}))
    async with here(tmp_path, ledger).open(turns[0], shared, "u1") as state:
        assert [p.name for p in state.folder.iterdir()] == [NOTES], "other people's state is not the agent's"


async def test_nothing_is_left_on_a_gateway_after_the_turn(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    async with both(tmp_path, ledger, turns) as (first, second):
        folders = first.folder, second.folder
        await append(first, "private")
    assert not any(folder.exists() for folder in folders)


async def test_turns_of_one_gateway_share_a_copy(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    agent, states = package(tmp_path), here(tmp_path, ledger)
    async with states.open(turns[1], agent, "u1") as second:
        async with states.open(turns[0], agent, "u1") as first:
            assert first.folder == second.folder
            await append(first, "one")
        await append(second, "two")
        assert await look(second) == "begin one two"


async def test_an_erased_person_is_gone_from_it(tmp_path: Path, ledger: Ledger, turns: list[Turn]):
    async with both(tmp_path, ledger, turns, stateScope="sender") as (first, second):
        await append(first, "secret")
        settings = Settings(tmp_path)
        assert (await erase_person(settings, ledger, "shop", "u1")).states == 1
        async with second.guard(writes=False):
            assert list(second.folder.iterdir()) == []
    assert b"begin secret" not in settings.ledger_path.read_bytes()
