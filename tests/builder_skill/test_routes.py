"""Looking at connections and routes, and putting agents live: every blocker, and never two owners."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builder_skill.desk import Desk
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import read_input
from channels.errors import PostroomError
from gateway.ledger.protocol import Ledger
from gateway.ledger.sqlite import open_sqlite
from routes.connection import Connection
from tests.builder_skill.desks import a_desk, use

SHOP = Connection("shop", "telegram", label="Shop", owners=("7",), status="ok")
TOKEN = b"sealed 123456:ABC"


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    (tmp_path / "home").mkdir(exist_ok=True)
    async with open_sqlite(tmp_path / "home/ledger.db", worker=False) as ledger:
        await ledger.put_connection(SHOP, {"bot_token": TOKEN})
        yield ledger


async def agent(desk: Desk, agent_id: str = "desk", **more: Any) -> None:
    await use(desk, "agent_create", **{"id": agent_id, "description": "x", "status": "production", **more})


async def deploy(desk: Desk, agent_id: str = "desk", **more: Any) -> dict[str, Any]:
    return await use(desk, "agent_deploy_channel", connectionId="shop", agentId=agent_id, **more)


async def preflight(desk: Desk, **more: Any) -> dict[str, Any]:
    return await use(desk, "channel_route_preflight", **{"connectionId": "shop", "agentId": "desk", **more})


async def test_connections_are_told_without_their_secrets(desk: Desk, ledger: Ledger) -> None:
    await ledger.put_connection(replace(SHOP, id="other", settings={"base_url": "https://user:pw123456@x"}))
    listed = await use(desk, "channel_connection_list")
    assert [(c["id"], c["secrets"]) for c in listed["connections"]] == [
        ("other", {"hasBotToken": False}),
        ("shop", {"hasBotToken": True}),
    ]
    assert "sealed" not in json.dumps(listed)
    assert "pw123456" not in json.dumps(listed)


async def test_every_blocker_on_its_own(desk: Desk, ledger: Ledger) -> None:
    await agent(desk)
    for connection in (
        replace(SHOP, id="off", enabled=False),
        replace(SHOP, id="broken", status="needs_attention"),
        replace(SHOP, id="taken"),
        replace(SHOP, id="caught"),
    ):
        await ledger.put_connection(connection)
    await agent(desk, "draft", status="draft")
    await agent(desk, "broken")
    (desk.agents_dir / "broken/skills/broken/SKILL.md").write_text("no frontmatter")
    await agent(desk, "needy")
    manifest = desk.agents_dir / "needy/agent.json"
    manifest.write_text(manifest.read_text().replace('"allowedTools": []', '"allowedTools": ["teleport"]'))
    await use(desk, "agent_deploy_channel", connectionId="taken", agentId="desk")
    await use(desk, "agent_deploy_channel", connectionId="caught", agentId="desk", fallback=True)
    for code, change in {
        "connection_missing": {"connectionId": "nothing"},
        "connection_disabled": {"connectionId": "off"},
        "channel_mismatch": {"channel": "slack"},
        "connection_unverified": {"connectionId": "broken"},
        "agent_missing": {"agentId": "nobody"},
        "agent_invalid": {"agentId": "broken"},
        "agent_not_production": {"agentId": "draft"},
        "tool_unavailable": {"agentId": "needy"},
        "route_conflict": {"connectionId": "taken", "agentId": "front-desk"},
        "second_fallback": {"connectionId": "caught", "agentId": "front-desk", "fallback": True},
    }.items():
        found = await preflight(desk, **change)
        assert [b["code"] for b in found["blockers"]] == [code]
        assert (found["ok"], bool(found["blockers"][0]["fix"])) == (False, True)
        with pytest.raises(PostroomError) as caught:
            await use(desk, "agent_deploy_channel", **{"connectionId": "shop", "agentId": "desk", **change})
        assert code in str(caught.value)


async def test_warnings_and_what_is_available(desk: Desk, ledger: Ledger) -> None:
    await agent(desk)
    found = await preflight(desk)
    assert {w["code"] for w in found["warnings"]} == {"broad_scope", "open_access"}
    assert (found["ok"], found["availableConnections"]) == (True, ["shop"])
    assert found["availableAgents"] == ["builder", "desk", "front-desk"]
    await ledger.put_connection(replace(SHOP, id="sms", channel="sms", status="unverified"))
    codes = {w["code"] for w in (await preflight(desk, connectionId="sms"))["warnings"]}
    assert {"no_public_url", "connection_unverified"} <= codes


async def test_a_conflict_is_refused_and_disabled_only_when_asked_to(desk: Desk, ledger: Ledger) -> None:
    await agent(desk)
    await deploy(desk)
    with pytest.raises(PostroomError) as caught:
        await deploy(desk, "front-desk")
    assert caught.value.code == "deploy_refused"
    assert [r["agentId"] for r in (await use(desk, "channel_route_list"))["routes"] if r["enabled"]] == ["desk"]
    found = await preflight(desk, agentId="front-desk")
    assert found["conflicts"] == ["shop-desk"]
    done = await deploy(desk, "front-desk", disableConflictingRoutes=True)
    assert (done["disabled"], done["route"]["agentId"], done["live"]) == (["shop-desk"], "front-desk", True)
    back = await use(desk, "channel_route_rollback")
    assert [(r["id"], r["enabled"]) for r in back["routes"]] == [("shop-desk", True)]
    assert back["removed"] == ["shop-front-desk"]
    gone = await use(desk, "channel_route_disable", routeId="shop-desk")
    assert gone["routes"][0]["enabled"] is False


async def test_a_stale_fingerprint_is_refused(desk: Desk, ledger: Ledger) -> None:
    await agent(desk)
    found = await preflight(desk)
    await use(
        desk,
        "agent_write_file",
        id="desk",
        path="skills/desk/SKILL.md",
        content="---\nname: desk\ndescription: y\n---\nZ",
    )
    with pytest.raises(PostroomError) as caught:
        await deploy(desk, fingerprint=found["fingerprint"])
    assert caught.value.code == "preflight_stale"
    await deploy(desk, fingerprint=(await preflight(desk))["fingerprint"])


async def test_a_dry_run_and_a_preview_tell_all_and_write_nothing(desk: Desk, ledger: Ledger) -> None:
    await agent(desk)
    await deploy(desk)
    before = await ledger.routes()
    tool = CATALOGUE["agent_deploy_channel"]
    arguments: dict[str, Any] = {"connectionId": "shop", "agentId": "front-desk", "disableConflictingRoutes": True}
    shown = await tool.preview(desk, read_input(tool, arguments))
    assert "Put live: shop-front-desk" in shown
    assert "It disables: shop-desk" in shown
    dry = await use(desk, "agent_deploy_channel", **arguments, dryRun=True)
    assert (dry["live"], dry["number"], dry["disabled"]) == (False, None, ["shop-desk"])
    assert await ledger.routes() == before


async def test_deploys_that_race_for_one_scope_have_one_winner(desk: Desk, ledger: Ledger, tmp_path: Path) -> None:
    for number in range(4):
        await agent(desk, f"desk-{number}")
    async with a_desk(tmp_path / "home") as other:
        results = await asyncio.gather(
            *(deploy(d, f"desk-{n}") for n, d in enumerate((desk, other, desk, other))), return_exceptions=True
        )
    assert sum(isinstance(r, dict) for r in results) == 1
    assert {r.code for r in results if isinstance(r, PostroomError)} == {"deploy_refused"}
    assert len([r for r in await ledger.routes() if r.enabled]) == 1


async def test_what_was_deployed_is_what_a_difference_is_told_from(desk: Desk, ledger: Ledger) -> None:
    await agent(desk)
    await deploy(desk)
    assert (await use(desk, "agent_diff", id="desk"))["diff"] == ""
    with pytest.raises(PostroomError) as caught:
        await use(desk, "agent_delete", id="desk")
    assert (caught.value.code, "channel_route_disable shop-desk" in caught.value.fix) == ("agent_in_use", True)


async def test_who_would_answer_a_sample(desk: Desk, ledger: Ledger) -> None:
    await agent(desk)
    await deploy(desk, scope={"kind": "dm"}, access="owner")

    async def ask(**sample: Any) -> tuple[Any, ...]:
        told = await use(desk, "channel_explain", **{"connectionId": "shop", **sample})
        return told["agentId"], told["answered"], told["reason"]

    assert await ask(senderId="7") == ("desk", True, "")
    assert await ask(senderId="8") == ("desk", False, "not_owner")
    assert await ask(chatKind="group") == (None, False, "no_route")
    assert await ask(connectionId="other") == (None, False, "connection_missing")


CASES = '{"cases": [{"name": "hours", "input": "When are you open?", "expect": %s}]}'


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ('{"contains": ["9:00"], "matches": ["18:\\\\d\\\\d"], "maxSteps": 1}', ""),
        ('{"contains": ["midnight"]}', "does not contain 'midnight'"),
        ('{"matches": ["^Never"]}', "does not match"),
        ('{"toolCalled": "read"}', "read was not called"),
        ('{"stateFileChanged": "state/log.json"}', "did not change"),
        ('{"judge": "It is friendly."}', ""),
    ],
)
async def test_cases_are_run_and_bind_a_deploy(desk: Desk, ledger: Ledger, expect: str, reason: str) -> None:
    await agent(desk, stateFiles=["log.json"])
    text = "---\nname: desk\ndescription: y\n---\n# Opening hours\n\nWe are open from 9:00 to 18:00 on weekdays.\n"
    await use(desk, "agent_write_file", id="desk", path="skills/desk/SKILL.md", content=text)
    with pytest.raises(PostroomError, match="has no cases"):
        await deploy(desk, requireRehearsal=True)
    await use(desk, "agent_write_file", id="desk", path="skills/desk/benchmarks.json", content=CASES % expect)
    found = await use(desk, "agent_rehearse", id="desk")
    (case,) = found["cases"]
    assert found["passed"] == case["passed"] == (not reason)
    assert reason in " ".join(case["reasons"])
    assert case["unjudged"] == ("judge" in expect)
    assert [p.name for p in (desk.agents_dir / "desk/state").iterdir()] == ["log.json"]
    if reason:
        with pytest.raises(PostroomError) as caught:
            await deploy(desk, requireRehearsal=True)
        assert caught.value.code == "rehearsal_failed"
        assert await ledger.routes() == []
    else:
        assert (await deploy(desk, requireRehearsal=True))["live"]
