from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.ledger.errors import NotFound
from gateway.ledger.pairing import Pairing
from gateway.ledger.protocol import Ledger
from tests.gateway.ledger.support import START, Store

ANN = Pairing("AAAA", "shop", "r1", "u1", "Ann", START + 3600)


class Pairings:
    async def test_a_stranger_has_one_code_for_a_route(self, ledger: Ledger) -> None:
        assert await ledger.ask_to_pair(ANN, 10)
        assert not await ledger.ask_to_pair(replace(ANN, code="BBBB"), 10)
        other = replace(ANN, code="CCCC", route_id="r2")
        assert await ledger.ask_to_pair(other, 10)
        assert await ledger.pairings() == [ANN, other]

    async def test_a_connection_has_so_many_open(self, ledger: Ledger) -> None:
        asked = [replace(ANN, code=f"C{n}", sender_id=f"u{n}") for n in range(6)]
        kept = await asyncio.gather(*(ledger.ask_to_pair(each, 3) for each in asked))
        assert sum(kept) == 3
        assert await ledger.ask_to_pair(replace(ANN, code="X", connection_id="team", route_id="r9"), 3)

    async def test_it_is_settled_once(self, ledger: Ledger, store: Store) -> None:
        await ledger.ask_to_pair(ANN, 10)
        async with store.open(worker=False) as beside:
            ends = await asyncio.gather(
                ledger.settle_pairing("AAAA"), beside.settle_pairing("AAAA"), return_exceptions=True
            )
        assert ANN in ends
        assert sum(isinstance(end, NotFound) for end in ends) == 1
        assert await ledger.ask_to_pair(ANN, 10)

    async def test_a_code_whose_time_is_over_is_worth_nothing(self, ledger: Ledger, store: Store) -> None:
        await ledger.ask_to_pair(ANN, 1)
        store.clock.advance(3600)
        assert await ledger.pairings() == []
        with pytest.raises(NotFound) as error:
            await ledger.settle_pairing("AAAA")
        assert error.value.fix
        again = replace(ANN, code="BBBB", expires_at=START + 7200)
        assert await ledger.ask_to_pair(again, 1)
        assert await ledger.settle_pairing("BBBB") == again
