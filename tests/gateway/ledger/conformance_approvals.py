"""Changes that wait for a person: kept, listed, and decided once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.ledger.approval import Approval
from gateway.ledger.errors import NotFound
from gateway.ledger.protocol import Ledger
from tests.gateway.ledger.support import CHAT, START, Store

ASKED = Approval("a1", "agent_create", {"id": "shop", "tools": ["read"]}, "+ shop", "builder", START, CHAT)


class Approvals:
    async def test_an_approval_comes_back_as_it_went_in(self, ledger: Ledger, store: Store) -> None:
        later = replace(ASKED, id="a2", conversation=None, by="mcp")
        await ledger.add_approval(ASKED)
        await ledger.add_approval(later)
        async with store.open(worker=False) as beside:
            assert await beside.approval("a1") == ASKED
            assert await beside.approvals() == [later, ASKED]
            assert await beside.approvals(1) == [later]
        with pytest.raises(NotFound) as error:
            await ledger.approval("a9")
        assert error.value.fix

    async def test_it_is_decided_once_whoever_comes_first(self, ledger: Ledger, store: Store) -> None:
        await ledger.add_approval(ASKED)
        yes, no = (
            replace(ASKED, state=state, decided_by=by, decided_at=START + 1)
            for state, by in (("running", "ann"), ("refused", "bob"))
        )
        async with store.open(worker=False) as beside:
            won = await asyncio.gather(ledger.move_approval(yes, "waiting"), beside.move_approval(no, "waiting"))
        assert sorted(won) == [False, True]
        assert await ledger.approval("a1") == (yes if won[0] else no)

    async def test_it_goes_on_from_the_state_it_is_in_only(self, ledger: Ledger) -> None:
        await ledger.add_approval(ASKED)
        done = replace(ASKED, state="done", result={"revision": "r1"})
        assert not await ledger.move_approval(done, "running")
        assert await ledger.approval("a1") == ASKED
        assert not await ledger.move_approval(replace(done, id="a9"), "waiting")
