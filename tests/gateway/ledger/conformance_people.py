"""What people do beside the agents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.ledger.audit import Change, Takeover
from gateway.ledger.errors import NotFound
from gateway.ledger.protocol import Ledger
from tests.gateway.ledger.support import CHAT, OTHER, START, Store, message


class People:
    async def test_a_conversation_is_one_persons_until_it_is_handed_back(self, ledger: Ledger, store: Store) -> None:
        version = await ledger.config_version()
        await ledger.step_in(CHAT.key, "ann")
        await ledger.step_in(CHAT.key, "bob")
        assert await ledger.takeovers() == [Takeover(CHAT.key, "ann", START)]
        assert await ledger.config_version() > version
        version = await ledger.config_version()
        async with store.open(worker=False) as beside:
            await beside.hand_back(CHAT.key)
            await beside.hand_back(CHAT.key)
        assert await ledger.takeovers() == []
        assert await ledger.config_version() > version

    async def test_the_audit_log_is_newest_first(self, ledger: Ledger, store: Store) -> None:
        first = Change("ann", "take over", CHAT.key)
        second = Change("bob", "set status", "shop", "draft", '{"status": "production"}')
        await ledger.note(first)
        store.clock.advance(5)
        await ledger.note(second)
        assert await ledger.audit() == [replace(second, at=START + 5), replace(first, at=START)]
        assert await ledger.audit(limit=1) == [replace(second, at=START + 5)]

    async def test_conversations_are_found_by_key_and_title(self, ledger: Ledger) -> None:
        await ledger.accept([message(1), message(2, OTHER, sender="Dora 100%")])
        assert [c.conversation for c in await ledger.conversations(find="DORA")] == [OTHER]
        assert [c.conversation for c in await ledger.conversations(find="shop/c1")] == [CHAT]
        assert await ledger.conversations(find="_") == []
        assert len(await ledger.conversations()) == 2
        assert await ledger.conversation(OTHER.key) == (await ledger.conversations(find="dora"))[0]
        with pytest.raises(NotFound) as error:
            await ledger.conversation("shop/c9")
        assert error.value.fix
