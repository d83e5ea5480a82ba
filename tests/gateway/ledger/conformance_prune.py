from __future__ import annotations

from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Finish
from tests.gateway.ledger.support import (
    CHAT,
    OTHER,
    START,
    Store,
    answer,
    claim_one,
    due,
    message,
    piece,
    run_record,
    send,
    session,
    states,
    statuses,
)


class Pruning:
    async def test_what_ended_before_goes_and_its_events_stay_known(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1)])
        turn = await claim_one(ledger)
        await ledger.record(turn, "tool", "done")
        end = Finish("answered", [piece("a")], session=session("s1"), run=run_record("run1", turn))
        await ledger.finish(turn, end)
        await send(ledger)
        store.clock.advance(100)
        await ledger.accept([message(2)])
        await answer(ledger, piece("b"))
        await send(ledger)
        pruned = await ledger.prune(START + 50, 100)
        assert (pruned.messages, pruned.deliveries, pruned.runs, pruned.sessions) == (1, 1, 1, 1)
        assert (await ledger.prune(START + 50, 100)).rows == 0
        assert await states(ledger) == [("text 2", "answered", "")]
        assert await statuses(ledger) == [("b", "sent")]
        assert await ledger.runs(CHAT.key) == []
        assert await ledger.session(CHAT, "front-desk") is None
        assert await ledger.accept([message(1)]) == ["duplicate"]

    async def test_what_waits_runs_or_died_stays_however_old(self, ledger: Ledger, store: Store) -> None:
        await ledger.accept([message(1), message(2, OTHER)])
        dead = (await ledger.claim("w1", 2)).turns[0]
        await ledger.finish(dead, Finish("dead", [piece("sorry")], error="broke"))
        await ledger.accept([message(3)])
        await ledger.say(OTHER, [piece("x", OTHER)])
        sorry = next(d for d in await due(ledger) if d.conversation == CHAT)
        await ledger.failed(sorry, "blocked")
        store.clock.advance(10_000)
        assert (await ledger.prune(store.clock.now, 100)).rows == 0
        assert [text for text, _, _ in await states(ledger)] == ["text 1", "text 3"]
        assert len(await ledger.dead_letters()) == 2
        await ledger.replay(dead.id)

    async def test_so_many_at_once(self, ledger: Ledger, store: Store) -> None:
        for n in range(5):
            await ledger.accept([message(n)])
            await answer(ledger)
        store.clock.advance(1)
        assert [(await ledger.prune(store.clock.now, 2)).messages for _ in range(4)] == [2, 2, 1, 0]
