"""What gateways share of agents: state that is compared and swapped, and published packages."""

from __future__ import annotations

import asyncio

import pytest

from gateway.ledger.errors import LeaseLost, NotFound, StateChanged
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Bundle, Finish, StateFile
from tests.gateway.ledger.support import START, Store, claim_one, message


class Shared:
    async def test_a_folder_of_state_is_begun_once(self, ledger: Ledger) -> None:
        assert await ledger.state("desk", "", {}) is None
        await ledger.begin_state("desk", "", {"a.json": b"1", "notes/b.md": b"\xff"})
        await ledger.begin_state("desk", "", {"a.json": b"2", "c": b""})
        expected = {"a.json": StateFile(1, b"1"), "notes/b.md": StateFile(1, b"\xff")}
        assert await ledger.state("desk", "", {}) == expected
        assert await ledger.state("desk", "", {"a.json": 1}) == {"notes/b.md": expected["notes/b.md"]}
        assert await ledger.state("desk", "", {"a.json": 1, "notes/b.md": 1}) == {}
        assert await ledger.state("desk", "senders/x", {}) is None
        await ledger.begin_state("desk", "senders/x", {})
        assert await ledger.state("desk", "senders/x", {}) == {}

    async def test_a_file_is_written_only_over_the_version_that_was_read(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.begin_state("desk", "", {"a": b"1"})
        await ledger.put_state(turn, "desk", "", "a", StateFile(2, b"2"))
        await ledger.put_state(turn, "desk", "", "b", StateFile(1, b"new"))
        for version, path in ((2, "a"), (4, "a"), (1, "a"), (1, "b"), (2, "c")):
            with pytest.raises(StateChanged):
                await ledger.put_state(turn, "desk", "", path, StateFile(version, b"x"))
        assert await ledger.state("desk", "", {}) == {"a": StateFile(2, b"2"), "b": StateFile(1, b"new")}

    async def test_of_many_at_once_one_is_written(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        writes = (ledger.put_state(turn, "desk", "", "a", StateFile(1, bytes([n]))) for n in range(8))
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert sum(result is None for result in results) == 1
        assert {type(result) for result in results if result is not None} == {StateChanged}

    async def test_a_worker_that_lost_its_turn_writes_nothing(self, ledger: Ledger) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.finish(turn, Finish("answered"))
        await ledger.begin_state("desk", "", {})
        with pytest.raises(LeaseLost):
            await ledger.put_state(turn, "desk", "", "a", StateFile(1, b"x"))
        assert await ledger.state("desk", "", {}) == {}

    async def test_folders_are_dropped_of_every_agent(self, ledger: Ledger) -> None:
        for agent in ("desk", "shop"):
            for folder in ("senders/x", "senders/y"):
                await ledger.begin_state(agent, folder, {"a": b"1"})
        assert await ledger.drop_states(["senders/x", "senders/z"]) == 2
        assert await ledger.state("desk", "senders/x", {}) is None
        assert await ledger.state("shop", "senders/y", {}) == {"a": StateFile(1, b"1")}

    async def test_the_bundle_published_last_counts(self, ledger: Ledger, store: Store) -> None:
        version = await ledger.config_version()
        await ledger.publish(Bundle("desk", "d1", b"\x00one", "ann"))
        store.clock.advance(5)
        await ledger.publish(Bundle("shop", "d2", b"two", "ann"))
        assert await ledger.published() == {"desk": "d1", "shop": "d2"}
        assert await ledger.bundle("d1") == Bundle("desk", "d1", b"\x00one", "ann", START)
        seen = await ledger.config_version()
        assert seen > version
        await ledger.publish(Bundle("desk", "d3", b"three", "bob"))
        assert await ledger.published() == {"desk": "d3", "shop": "d2"}
        assert await ledger.config_version() > seen
        with pytest.raises(NotFound):
            await ledger.bundle("d1")
        await ledger.unpublish("desk")
        assert await ledger.published() == {"shop": "d2"}
        with pytest.raises(NotFound):
            await ledger.unpublish("desk")
