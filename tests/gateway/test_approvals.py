"""Changes that wait: shown, decided once, done exactly as shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents_runtime.registry import Registry
from builder_skill.gate import ApprovalFailed, ApprovalNeeded, ApprovalRefused
from builder_skill.tools import CATALOGUE
from channels.errors import PostroomError
from channels.message import Action, Conversation, InboundMessage, Sender
from gateway.approvals import INTERRUPTED_AFTER, Approvals
from gateway.builder import heard
from gateway.desk import lay_desk
from gateway.ledger.errors import NotFound
from gateway.ledger.protocol import Ledger
from gateway.ledger.sqlite import open_sqlite
from gateway.places import agent_roots
from gateway.settings import Settings
from routes.connection import Connection

CREATE = CATALOGUE["agent_create"]
SHOP: dict[str, Any] = {"id": "shop", "description": "Answers."}
SHOP_LINE = Connection("line", "telegram", owners=("7",))


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    async with open_sqlite(tmp_path / "ledger.db", worker=False) as ledger:
        yield ledger


@pytest.fixture
def gate(ledger: Ledger, tmp_path: Path) -> Approvals:
    return make(ledger, tmp_path)


def make(ledger: Ledger, home: Path, *lifted: str) -> Approvals:
    settings = Settings(home)
    return Approvals(ledger, lay_desk(settings, ledger, Registry(agent_roots(settings)), "m"), "m", frozenset(lifted))


async def asked(gate: Approvals, **changes: Any) -> ApprovalNeeded:
    with pytest.raises(ApprovalNeeded) as caught:
        await gate.call(CREATE, {**SHOP, **changes})
    return caught.value


async def test_a_read_passes_and_a_write_waits_with_its_difference(gate: Approvals, tmp_path: Path) -> None:
    assert await gate.call(CATALOGUE["agent_list"], {})
    error = await asked(gate)
    assert "+++ b/skills/shop/SKILL.md" in error.preview
    assert error.approval_id in error.fix
    assert not (tmp_path / "agents").exists()


async def test_the_same_call_again_is_one_approval_and_then_its_result_once(gate: Approvals, tmp_path: Path) -> None:
    first, second = await asked(gate), await asked(gate)
    assert first.approval_id == second.approval_id
    done = await gate.decide(first.approval_id, yes=True, by="ann")
    assert (done.state, done.decided_by) == ("done", "ann")
    assert (await gate.call(CREATE, SHOP))["id"] == "shop"
    with pytest.raises(PostroomError) as caught:
        await gate.call(CREATE, SHOP)
    assert caught.value.code == "agent_exists"


async def test_a_no_is_told_once_and_writes_nothing(gate: Approvals, tmp_path: Path) -> None:
    error = await asked(gate)
    await gate.decide(error.approval_id[-6:].lower(), yes=False, by="ann")
    with pytest.raises(ApprovalRefused):
        await gate.call(CREATE, SHOP)
    assert (await asked(gate)).approval_id != error.approval_id
    assert not (tmp_path / "agents").exists()


async def test_what_changed_since_it_was_shown_is_not_done(gate: Approvals, ledger: Ledger, tmp_path: Path) -> None:
    open_gate = make(ledger, tmp_path, "*")
    await open_gate.call(CREATE, SHOP)
    write = {"id": "shop", "path": "README.md", "content": "mine"}
    with pytest.raises(ApprovalNeeded) as caught:
        await gate.call(CATALOGUE["agent_write_file"], write)
    await open_gate.call(CATALOGUE["agent_write_file"], {**write, "content": "theirs"})
    done = await gate.decide(caught.value.approval_id, yes=True, by="ann")
    assert done.state == "failed"
    assert done.result is not None
    assert done.result["error"]["code"] == "approval_stale"
    assert (tmp_path / "agents/shop/README.md").read_text() == "theirs"
    with pytest.raises(ApprovalFailed, match="approval_stale") as told:
        await gate.call(CATALOGUE["agent_write_file"], write)
    assert told.value.fix
    with pytest.raises(ApprovalNeeded) as anew:
        await gate.call(CATALOGUE["agent_write_file"], write)
    assert "-theirs" in anew.value.preview


async def test_what_can_not_be_done_is_never_asked_for(gate: Approvals, ledger: Ledger) -> None:
    with pytest.raises(PostroomError) as caught:
        await gate.call(CREATE, {**SHOP, "id": "../x"})
    assert caught.value.code == "name_invalid"
    assert await ledger.approvals() == []


async def test_two_decisions_at_once_are_one(gate: Approvals, ledger: Ledger, tmp_path: Path) -> None:
    error = await asked(gate)
    other = make(ledger, tmp_path)
    await asyncio.gather(*(g.decide(error.approval_id, yes=True, by="x") for g in (gate, other) * 4))
    (approval,) = await ledger.approvals()
    assert approval.state == "done"


async def test_a_call_that_was_cut_off_does_not_wait_for_ever(gate: Approvals, ledger: Ledger, tmp_path: Path) -> None:
    error = await asked(gate)
    approval = await ledger.approval(error.approval_id)
    cut_off = replace(approval, state="running", decided_at=time.time())
    assert await ledger.move_approval(cut_off, "waiting")
    await asked(gate)
    assert await ledger.move_approval(replace(cut_off, decided_at=time.time() - INTERRUPTED_AFTER - 1), "running")
    with pytest.raises(ApprovalFailed, match="interrupted"):
        await gate.call(CREATE, SHOP)
    assert (await asked(gate)).approval_id != error.approval_id


async def test_tools_can_be_lifted_one_by_one(ledger: Ledger, tmp_path: Path) -> None:
    gate = make(ledger, tmp_path, "agent_create")
    assert (await gate.call(CREATE, SHOP))["id"] == "shop"
    with pytest.raises(ApprovalNeeded):
        await gate.call(CATALOGUE["agent_delete"], {"id": "shop"})


async def test_an_unknown_approval_is_not_found(gate: Approvals) -> None:
    for approval_id in ("abc123", "01ARZ3NDEKTSV4RRFFQ69G5FAV", ""):
        with pytest.raises(NotFound) as caught:
            await gate.decide(approval_id, yes=True, by="x")
        assert caught.value.fix


def message(sender: str, text: str = "", action: Action | None = None) -> InboundMessage:
    return InboundMessage(
        id="m",
        connection_id="line",
        channel="telegram",
        kind="action" if action else "message",
        dedupe_keys=(),
        conversation=Conversation("line", "1"),
        scope="dm",
        sender=Sender(sender),
        text=text,
        action=action,
    )


@pytest.mark.parametrize("by_button", [True, False])
async def test_the_owner_decides_by_button_or_in_words_and_nobody_else(gate: Approvals, by_button: bool) -> None:
    error = await asked(gate)

    def word(sender: str) -> InboundMessage:
        if by_button:
            return message(sender, action=Action("approve", error.approval_id))
        return message(sender, f"Approve {error.approval_id[-6:]}.")

    theirs = word("8")
    assert await heard(gate, SHOP_LINE, (theirs,)) == (theirs,)
    (told,) = await heard(gate, SHOP_LINE, (word("7"),))
    assert told.text.startswith("The owner approved agent_create")
    assert '"id": "shop"' in told.text
    (again,) = await heard(gate, SHOP_LINE, (word("7"),))
    assert again.text == told.text, "a turn that is tried again hears the same"
    (chat,) = await heard(gate, SHOP_LINE, (message("7", "I approve of it"),))
    assert chat.text == "I approve of it"
