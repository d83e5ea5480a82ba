"""The MCP server with the official client in the same process: errors, and asking the person at the client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitResult

from agents_runtime.registry import Registry
from builder_skill.mcp_asking import KEY, SHOWN_MAX
from builder_skill.mcp_server import build_server
from builder_skill.tools import CATALOGUE
from gateway import logs
from gateway.approvals import Approvals
from gateway.desk import lay_desk
from gateway.ledger.protocol import Ledger
from gateway.ledger.sqlite import open_sqlite
from gateway.places import agent_roots
from gateway.settings import Settings

SHOP: dict[str, Any] = {"id": "shop", "description": "Answers."}
SECRET = "123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
BOTH = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    async with open_sqlite(tmp_path / "ledger.db", worker=False) as ledger:
        yield ledger


class Person:
    """Who sits at the client: shown a question, says what they were told to say."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)
        self.shown: list[str] = []

    async def __call__(self, _context: object, params: ElicitRequestFormParams) -> ElicitResult:
        self.shown.append(params.message)
        word = self.words.pop(0)
        return ElicitResult(action=word, content={} if word == "accept" else None)


def connect(ledger: Ledger, home: Path, *lifted: str, ask_client: bool = True, **options: Any) -> Client:
    settings = Settings(home)
    desk = lay_desk(settings, ledger, Registry(agent_roots(settings)), "mcp")
    gate = Approvals(ledger, desk, "mcp", frozenset(lifted))
    return Client(build_server(gate, "0", redact=logs.redact, ask_client=ask_client), **options)


def code_of(result: CallToolResult) -> str:
    assert result.is_error
    return json.loads(result.content[0].text)["error"]["code"]


@BOTH
async def test_a_yes_at_the_client_does_what_was_shown(ledger: Ledger, tmp_path: Path, mode: str) -> None:
    person = Person("accept")
    async with connect(ledger, tmp_path, mode=mode, elicitation_callback=person) as client:
        done = await client.call_tool("agent_create", SHOP)
    assert (done.is_error, done.structured_content["id"]) == (False, "shop")
    (shown,) = person.shown
    assert "+++ b/agent.json" in shown
    (approval,) = await ledger.approvals()
    assert approval.preview in shown
    assert approval.decided_by == "mcp client"


@BOTH
async def test_a_no_at_the_client_writes_nothing(ledger: Ledger, tmp_path: Path, mode: str) -> None:
    async with connect(ledger, tmp_path, mode=mode, elicitation_callback=Person("decline")) as client:
        assert code_of(await client.call_tool("agent_create", SHOP)) == "approval_refused"
    assert not (tmp_path / "agents").exists()


@BOTH
async def test_a_question_left_open_still_waits_for_the_owner(ledger: Ledger, tmp_path: Path, mode: str) -> None:
    async with connect(ledger, tmp_path, mode=mode, elicitation_callback=Person("cancel")) as client:
        assert code_of(await client.call_tool("agent_create", SHOP)) == "approval_needed"
    (approval,) = await ledger.approvals()
    assert approval.state == "waiting"


@BOTH
async def test_what_changes_while_the_question_is_open_is_not_done(ledger: Ledger, tmp_path: Path, mode: str) -> None:
    async with connect(ledger, tmp_path, "*") as client:
        await client.call_tool("agent_create", SHOP)
    readme = tmp_path / "agents/shop/README.md"

    class Slow(Person):
        async def __call__(self, context: object, params: ElicitRequestFormParams) -> ElicitResult:
            await asyncio.to_thread(readme.write_text, "theirs")
            return await super().__call__(context, params)

    async with connect(ledger, tmp_path, mode=mode, elicitation_callback=Slow("accept")) as client:
        write = {"id": "shop", "path": "README.md", "content": "mine"}
        result = await client.call_tool("agent_write_file", write)
        assert code_of(result) == "approval_failed"
        assert "approval_stale" in result.content[0].text
    assert readme.read_text() == "theirs"


@BOTH
@pytest.mark.parametrize("able", [True, False])
async def test_without_a_person_to_ask_it_says_how_to_approve(
    ledger: Ledger, tmp_path: Path, mode: str, able: bool
) -> None:
    options: dict[str, Any] = {"elicitation_callback": Person()} if able else {}
    async with connect(ledger, tmp_path, mode=mode, ask_client=not able, **options) as client:
        result = await client.call_tool("agent_create", SHOP)
    assert code_of(result) == "approval_needed"
    assert "postroom approval yes" in result.content[0].text


async def test_an_answer_to_what_was_never_shown_counts_for_nothing(ledger: Ledger, tmp_path: Path) -> None:
    person = Person("accept")
    async with connect(ledger, tmp_path, elicitation_callback=person) as client:
        yes = {KEY: ElicitResult(action="accept", content={})}
        for state in (None, "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
            asked = await client.session.call_tool(
                "agent_create", SHOP, input_responses=yes, request_state=state, allow_input_required=True
            )
            assert asked.result_type == "input_required"
    assert not (tmp_path / "agents").exists()


@BOTH
async def test_a_change_too_long_for_a_form_is_not_cut(ledger: Ledger, tmp_path: Path, mode: str) -> None:
    async with connect(ledger, tmp_path, "agent_create") as client:
        await client.call_tool("agent_create", SHOP)
    person = Person()
    async with connect(ledger, tmp_path, mode=mode, elicitation_callback=person) as client:
        write = {"id": "shop", "path": "README.md", "content": "word " * SHOWN_MAX}
        assert code_of(await client.call_tool("agent_write_file", write)) == "approval_needed"
    assert person.shown == []


async def test_a_secret_in_an_argument_is_not_told_back(ledger: Ledger, tmp_path: Path) -> None:
    async with connect(ledger, tmp_path, "*") as client:
        for name, arguments in (
            ("agent_create", {**SHOP, "id": SECRET}),
            ("agent_read", {"id": SECRET}),
            ("channel_route_disable", {"routeId": SECRET}),
            (SECRET, {}),
        ):
            result = await client.call_tool(name, arguments)
            assert code_of(result)
            assert SECRET not in result.model_dump_json()


async def test_what_goes_wrong_inside_stays_inside(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_args: object) -> None:
        raise OSError(f"{tmp_path} is on fire")

    monkeypatch.setattr(Approvals, "call", fail)
    async with connect(ledger, tmp_path) as client:
        result = await client.call_tool("agent_list", {})
    assert code_of(result) == "internal"
    assert str(tmp_path) not in result.model_dump_json()


@BOTH
async def test_an_unknown_resource_or_prompt_is_named(ledger: Ledger, tmp_path: Path, mode: str) -> None:
    async with connect(ledger, tmp_path, mode=mode) as client:
        with pytest.raises(MCPError, match="There is no resource skill://x"):
            await client.read_resource("skill://x")
        with pytest.raises(MCPError, match="There is no prompt x"):
            await client.get_prompt("x")


async def test_every_tool_says_its_kind(ledger: Ledger, tmp_path: Path) -> None:
    async with connect(ledger, tmp_path) as client:
        for tool in (await client.list_tools()).tools:
            effect = CATALOGUE[tool.name].effect
            assert tool.annotations.read_only_hint == (effect == "read")
            assert tool.annotations.destructive_hint == (effect == "destructive")
            assert tool.output_schema is not None
