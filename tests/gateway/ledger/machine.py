"""Any sequence of accepting, claiming, ending, expiring and crashing, against a model of a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from channels.message import Conversation
from gateway.ledger.errors import LeaseLost
from gateway.ledger.records import Finish, Turn
from gateway.ledger.sql.ledger import SqlLedger
from tests.gateway.ledger.support import Clock, message, piece, said

T = TypeVar("T")

CHATS = [Conversation("shop", f"c{n}") for n in range(3)]
LEASE = 30.0


@dataclass
class Open:
    """A turn that has not ended, as the model knows it. `held` is None while nobody runs it."""

    id: str
    numbers: list[int]
    attempt: int
    ready_at: float
    held: Turn | None


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = Clock()
        self.opened: AbstractAsyncContextManager[SqlLedger]
        self.ledger: SqlLedger
        self.open()
        self.waiting: dict[Conversation, list[int]] = {chat: [] for chat in CHATS}
        self.turns: dict[Conversation, Open] = {}
        self.ended: dict[int, str] = {}
        self.said: dict[Conversation, list[str]] = {chat: [] for chat in CHATS}
        self.epochs: dict[Conversation, int] = dict.fromkeys(CHATS, 0)
        self.tokens: list[Turn] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def opening(self) -> AbstractAsyncContextManager[SqlLedger]:
        """The ledger under test; each kind brings its own."""
        raise NotImplementedError

    def kill(self) -> None:
        """Kill the process in the middle of whatever it did, start another, and keep the model in step."""
        raise NotImplementedError

    def open(self) -> None:
        self.opened = self.opening()
        self.ledger = self.run(self.opened.__aenter__())

    def close(self) -> None:
        self.run(self.opened.__aexit__(None, None, None))  # type: ignore[arg-type]

    # -- the model

    def claimable(self) -> list[Conversation]:
        return [chat for chat in CHATS if self.is_claimable(chat)]

    def is_claimable(self, chat: Conversation) -> bool:
        turn = self.turns.get(chat)
        if turn is None:
            return bool(self.waiting[chat])
        if turn.held is not None:
            return turn.held.lease_until <= self.clock.now
        return turn.ready_at <= self.clock.now

    def is_current(self, token: Turn) -> bool:
        turn = self.turns.get(token.conversation)
        return turn is not None and turn.held is not None and turn.held.epoch == token.epoch

    # -- what can happen

    @rule(numbers=st.lists(st.integers(0, 40), min_size=1, max_size=4), chat=st.sampled_from(range(3)))
    def accept(self, numbers: list[int], chat: int) -> None:
        # an event's number decides its conversation, so that the same number is the same event
        events = [number * 3 + chat for number in numbers]
        known = {*self.ended, *(n for line in self.waiting.values() for n in line)}
        known |= {n for turn in self.turns.values() for n in turn.numbers}
        results = self.run(self.ledger.accept([message(n, CHATS[chat]) for n in events]))
        for n, result in zip(events, results, strict=True):
            assert result == ("duplicate" if n in known else "new")
            if n not in known:
                known.add(n)
                self.waiting[CHATS[chat]].append(n)

    @rule(limit=st.integers(1, 4), owner=st.sampled_from(["w1", "w2"]))
    def claim(self, limit: int, owner: str) -> None:
        expected = self.claimable()
        claims = self.run(self.ledger.claim(owner, limit))
        assert len(claims.turns) == min(limit, len(expected))
        for token in claims.turns:
            chat = token.conversation
            assert chat in expected
            turn = self.turns.get(chat)
            if turn is None:
                turn = self.turns[chat] = Open(token.id, self.waiting[chat], 0, self.clock.now, None)
                self.waiting[chat] = []
            turn.attempt += 1
            turn.held = token
            assert (token.id, token.attempt, token.owner) == (turn.id, turn.attempt, owner)
            assert [m.raw["n"] for m in token.messages] == turn.numbers
            assert token.epoch > self.epochs[chat]
            self.epochs[chat] = token.epoch
            self.tokens.append(token)
        later = [t for chat in CHATS if not self.is_claimable(chat) and (t := self.next_at(chat)) is not None]
        assert claims.next_at == min(later, default=None)

    def next_at(self, chat: Conversation) -> float | None:
        turn = self.turns.get(chat)
        if turn is None:
            return None
        return turn.ready_at if turn.held is None else turn.held.lease_until

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(self.tokens))
        if self.fenced(token, self.ledger.renew(token)):
            held = self.turns[token.conversation]
            assert held.held is not None
            held.held = self.run(self.ledger.renew(token))
            self.tokens.append(held.held)

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), outcome=st.sampled_from(["answered", "ignored"]), left=st.integers(0, 2))
    def finish(self, data: st.DataObject, outcome: str, left: int) -> None:
        token = data.draw(st.sampled_from(self.tokens))
        ids = [m.id for m in token.messages]
        keep = max(1, len(ids) - left)
        text = f"{token.id} {token.epoch}"
        reasons = dict.fromkeys(ids[:keep], "no_route") if outcome == "ignored" else {}
        end = Finish("answered", [piece(text, token.conversation)], ignored=reasons, left=frozenset(ids[keep:]))
        if self.fenced(token, self.ledger.finish(token, end)):
            chat = token.conversation
            turn = self.turns.pop(chat)
            self.ended |= dict.fromkeys(turn.numbers[:keep], outcome)
            self.waiting[chat] = turn.numbers[keep:] + self.waiting[chat]
            self.said[chat].append(text)

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), after=st.sampled_from([0.0, 5.0, 40.0]))
    def retry(self, data: st.DataObject, after: float) -> None:
        token = data.draw(st.sampled_from(self.tokens))
        if self.fenced(token, self.ledger.retry(token, after, "passing")):
            turn = self.turns[token.conversation]
            turn.held, turn.ready_at = None, self.clock.now + after

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(self.tokens))
        current = self.is_current(token)
        self.run(self.ledger.release(token))
        if current:
            turn = self.turns[token.conversation]
            turn.held, turn.ready_at = None, self.clock.now
            turn.attempt -= 1

    @rule(seconds=st.sampled_from([1.0, 10.0, LEASE]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def crash(self) -> None:
        self.kill()

    def fenced(self, token: Turn, work: Coroutine[Any, Any, object]) -> bool:
        """Whether the work was done; it must be refused exactly when the turn is no longer this worker's."""
        current = self.is_current(token)
        try:
            self.run(work)
        except LeaseLost:
            assert not current
            return False
        assert current
        return True

    # -- what always holds

    @invariant()
    def everything_is_somewhere(self) -> None:
        for chat in CHATS:
            stored = self.run(self.ledger.messages(chat.key, 1000))
            found = {m.message.raw["n"]: (m.state, m.turn_id) for m in stored}
            turn = self.turns.get(chat)
            expected = dict.fromkeys(self.waiting[chat], ("waiting", ""))
            if turn is not None:
                expected |= dict.fromkeys(turn.numbers, ("claimed", turn.id))
            assert {n: s for n, s in found.items() if s[0] in ("waiting", "claimed")} == expected
            assert {n: s[0] for n, s in found.items() if n not in expected} == {
                n: outcome for n, outcome in self.ended.items() if CHATS[n % 3] == chat
            }
            assert [said(d) for d in self.run(self.ledger.deliveries(chat.key, 1000))] == self.said[chat]

    def teardown(self) -> None:
        """Whatever happened, a worker that goes on answers everything that is left, once."""
        try:
            self.clock.advance(1000)
            while self.claimable():
                self.claim(4, "last")
                for turn in list(self.turns.values()):
                    assert turn.held is not None
                    self.run(self.ledger.finish(turn.held, Finish("answered")))
                    self.ended |= dict.fromkeys(turn.numbers, "answered")
                self.turns.clear()
            self.everything_is_somewhere()
            depths = self.run(self.ledger.depths())
            assert (depths.waiting_messages, depths.running_turns) == (0, 0)
        finally:
            self.close()
            self.runner.close()
