"""The meeting-miner wish, end to end: over MCP, over HTTP, at the terminal, and to the builder on a channel."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from builder_skill.system_skill import NAME, skill_text
from builder_skill.tools import CATALOGUE
from channels.telegram.rehearsal.world import FAR, _digest
from tests.e2e.line import free_port, open_line
from tests.support.gateway import POSTROOM, Home
from tests.support.scripted_model import Reply, ScriptedModel

WISH = "Create me a Telegram channel agent named meeting-miner."
MINER: dict[str, Any] = {
    "id": "meeting-miner",
    "label": "Meeting Miner",
    "description": "Turns messy meeting notes into concise briefs and tracks open action items.",
    "status": "production",
    "allowedTools": ["execute_skill", "read", "write_file"],
    "subSkills": [{"id": "meeting-miner-parser", "description": "Parse messy notes."}],
    "stateFiles": ["meeting-log.json"],
}
ROUTE = {"connectionId": "shop", "agentId": "meeting-miner", "scope": {"kind": "dm"}, "access": "owner"}
OWNER = FAR + _digest("owner")
SECRET = "123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"


async def with_shop(home: Home) -> Home:
    home.env["SHOP_TOKEN"] = SECRET
    await home.ok("connection", "add", "telegram", "--id", "shop", "--token-env", "SHOP_TOKEN", "--owner", "7")
    return home


def stdio(home: Home, *options: str) -> StdioServerParameters:
    return StdioServerParameters(command=str(POSTROOM), args=["mcp", *options], env=home.env)


@asynccontextmanager
async def over_http(home: Home):
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        POSTROOM, "mcp", "--http", "--port", str(port), "--yes", env=home.env, stdout=-3, stderr=-3
    )
    try:
        async with asyncio.timeout(30):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


async def play(client: Client) -> dict[str, Any]:
    """What a model does with the skill in front of it: from the free id to a live route."""

    async def use(name: str, **arguments: Any) -> dict[str, Any]:
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    listed = await use("agent_list")
    assert "meeting-miner" not in [a["id"] for a in listed["agents"]]
    await use("agent_create", **MINER)
    assert (await use("agent_validate", id="meeting-miner"))["valid"]
    (connection,) = (await use("channel_connection_list"))["connections"]
    assert connection["secrets"] == {"hasBotToken": True}
    assert (await use("channel_route_list"))["routes"] == []
    found = await use("channel_route_preflight", **ROUTE)
    assert found["ok"], found["blockers"]
    return await use("agent_deploy_channel", **ROUTE, fingerprint=found["fingerprint"])


async def test_a_model_builds_and_deploys_over_stdio(home: Home) -> None:
    await with_shop(home)
    async with Client(stdio(home, "--yes")) as client:
        tools = (await client.list_tools()).tools
        assert {t.name for t in tools} == set(CATALOGUE)
        assert {t.name for t in tools if t.annotations.read_only_hint} == {
            name for name, tool in CATALOGUE.items() if tool.effect == "read"
        }
        assert (await play(client))["live"]
        again = await client.call_tool("agent_deploy_channel", {**ROUTE, "agentId": "front-desk"})
        assert "deploy_refused" in again.content[0].text
        for arguments, code in (
            ({**MINER, "id": "../x"}, "name_invalid"),
            ({**MINER, "id": "b", "description": f"Use {SECRET}"}, "secret_found"),
            ({**MINER, "nonsense": 1}, "arguments_invalid"),
        ):
            refused = await client.call_tool("agent_create", arguments)
            error = json.loads(refused.content[0].text)["error"]
            assert (refused.is_error, error["code"], bool(error["fix"])) == (True, code, True)
            assert SECRET not in refused.content[0].text
        prompt = await client.get_prompt(NAME, {"wish": WISH})
        assert WISH in prompt.messages[0].content.text
        (resource,) = (await client.list_resources()).resources
        assert (await client.read_resource(str(resource.uri))).contents[0].text == skill_text()
    (route,) = await home.json("route", "list")
    assert (route["agentId"], route["enabled"]) == ("meeting-miner", True)
    assert (home.path / "skills/.system" / NAME / "skill.json").is_file()


async def test_over_http_only_with_the_token_and_the_right_names(home: Home) -> None:
    await with_shop(home)
    token = (await home.ok("mcp", "token")).strip()
    assert (home.path / "access-token").stat().st_mode & 0o777 == 0o600
    async with over_http(home) as url:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            assert {t.name for t in (await client.list_tools()).tools} == set(CATALOGUE)
            assert (await play(client))["live"]
        async with aiohttp.ClientSession() as session:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            good = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
            for headers, status in (
                ({}, 401),
                ({"Authorization": "Bearer wrong"}, 401),
                ({**good, "Origin": "https://evil.example"}, 403),
                ({**good, "Host": "evil.example"}, 421),
            ):
                async with session.post(url, json=body, headers=headers) as response:
                    assert response.status == status, headers


async def test_a_write_waits_for_the_owner_and_is_told_when_it_is_done(home: Home) -> None:
    async with Client(stdio(home)) as client:
        asked = await client.call_tool("agent_create", MINER)
        error = json.loads(asked.content[0].text)["error"]
        assert (asked.is_error, error["code"]) == (True, "approval_needed")
        (waiting,) = await home.json("approval", "list")
        shown = await home.json("approval", "show", waiting["id"])
        assert "+++ b/agent.json" in shown["preview"]
        assert not (home.path / "agents").exists()
        await home.ok("approval", "yes", waiting["id"][-6:])
        done = await client.call_tool("agent_create", MINER)
        assert (done.is_error, done.structured_content["id"]) == (False, "meeting-miner")


def terminal_script() -> list[str | Reply]:
    return [
        Reply(calls=(("agent_list", {}),)),
        Reply(calls=(("agent_create", MINER),)),
        Reply(calls=(("agent_validate", {"id": "meeting-miner"}),)),
        Reply(calls=(("channel_connection_list", {}), ("channel_route_list", {}))),
        Reply(calls=(("channel_route_preflight", ROUTE),)),
        Reply(calls=(("agent_deploy_channel", ROUTE),)),
        "meeting-miner is live for direct messages to you.",
    ]


@pytest.mark.parametrize(("answers", "live"), [("y\ny\n", True), ("y\nn\n", False)])
async def test_build_shows_each_change_and_asks(home: Home, answers: str, live: bool) -> None:
    await with_shop(home)
    async with ScriptedModel(terminal_script()) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        code, out, err = await home.run("build", WISH, stdin=answers)
        assert code == 0, err
        assert "+++ b/agent.json" in out
        assert "Put live: shop-meeting-miner" in out
        assert "meeting-miner is live" in out
        assert set(model.requests[0].tools) == set(CATALOGUE)
        assert SECRET not in json.dumps([r.body for r in model.requests]) + out + err
        refused = "approval_refused" in json.dumps(model.requests[-1].body)
    assert (home.path / "agents/meeting-miner/agent.json").is_file()
    routes = await home.json("route", "list")
    assert (bool(routes), refused) == (live, not live)


async def test_build_without_a_model_says_what_to_set(home: Home) -> None:
    code, _, err = await home.run("build", WISH)
    assert (code, "no_model" in err, "POSTROOM_MODEL" in err) == (1, True, True)


async def test_the_builder_on_a_channel_waits_for_its_owners_button(home: Home) -> None:
    def script(asked: Any) -> Reply:
        if "The owner approved" in asked.last:
            return Reply("Done: meeting-miner is made.")
        if asked.said[-1][0] == "tool":
            return Reply("I would create meeting-miner.")
        return Reply(calls=(("agent_create", MINER),))

    async with ScriptedModel(script) as model:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        async with open_line("telegram", home, "--owner", str(OWNER)) as line:
            code, _, err = await home.run("route", "deploy", "--connection", "telegram", "--agent", "builder")
            assert (code, "agent_owner_only" in err) == (1, True)
            await line.deploy("builder", "--access", "owner", "--stranger", "silent")
            gateway = await line.up()
            try:
                said = await line.client.say(WISH, user="owner")
                heard = await line.until(said, lambda text: "Answer `approve" in text or "approve " in text)
                assert "I would create meeting-miner." in heard[0].text
                assert [b["text"] for b in heard[-1].buttons] == ["Approve", "Refuse"]
                assert not (home.path / "agents/meeting-miner").exists()
                pressed = await line.client.say(user="owner", press="Approve")
                (answer, *_) = await line.client.replies(chat=said.chat, after=pressed.after, wait=30)
                assert answer.text == "Done: meeting-miner is made."
                assert (home.path / "agents/meeting-miner/agent.json").is_file()
                (approval,) = await home.json("approval", "list")
                assert (approval["state"], approval["decidedBy"]) == ("told", f"telegram:{OWNER}")
            finally:
                assert await gateway.stop() == 0


async def test_the_http_api_does_what_the_command_line_does(home: Home) -> None:
    await with_shop(home)
    home.env["POSTROOM_AUTO_APPROVE"] = "agent_create"
    token = (await home.ok("mcp", "token")).strip()
    gateway = await home.up()
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with aiohttp.ClientSession(gateway.url, headers=headers) as session:

            async def use(name: str, body: Any, **options: Any) -> tuple[int, Any]:
                async with session.post(f"/api/tools/{name}", json=body, **options) as response:
                    return response.status, await response.json()

            status, made = await use("agent_create", MINER)
            assert (status, made["id"]) == (200, "meeting-miner")
            assert await use("agent_validate", {"id": "meeting-miner"}) == (
                200,
                json.loads(await home.ok("tool", "agent_validate", "--json", '{"id": "meeting-miner"}')),
            )
            for name, body, expected in (
                ("agent_create", MINER, (409, "agent_exists")),
                ("agent_creat", MINER, (404, "tool_unknown")),
                ("agent_create", [], (400, "json_invalid")),
                ("agent_create", {"x": 1}, (400, "arguments_invalid")),
                ("agent_create", {**MINER, "id": "b", "allowedTools": ["fly"]}, (422, "tool_unknown")),
                ("agent_read", {"id": "nobody"}, (404, "agent_missing")),
                ("agent_deploy_channel", ROUTE, (202, "approval_needed")),
                ("agent_create", {"id": "x" * 2_000_000}, (413, "body_too_large")),
            ):
                status, answer = await use(name, body)
                assert (status, answer["error"]["code"]) == expected
            for header in ("Bearer no", "Bearer ", "Bearer \udcff", f"Basic {token}"):
                status, answer = await use("agent_list", {}, headers={"Authorization": header})
                assert (status, answer["error"]["code"]) == (401, "unauthorised")
            async with session.get("/api/tools/agent_list") as response:
                assert (response.status, response.headers["Allow"]) == (405, "POST")
            async with session.get("/api/tools") as response:
                assert {t["name"] for t in (await response.json())["tools"]} == set(CATALOGUE)
            async with session.get("/api/openapi.json") as response:
                assert (await response.json())["openapi"] == "3.1.0"
    finally:
        assert await gateway.stop() == 0


async def test_schemathesis_finds_nothing(home: Home) -> None:
    """A bounded run of generated requests: no 5xx, no way around the token, every answer as the description says."""
    checks = (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
    home.env["POSTROOM_AUTO_APPROVE"] = "*"
    token = (await home.ok("mcp", "token")).strip()
    gateway = await home.up()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "schemathesis.cli", "run", f"{gateway.url}/api/openapi.json"),
            *("-H", f"Authorization: Bearer {token}", "--phases=coverage,fuzzing", "--max-examples=5", "--seed=1"),
            "--checks=" + ",".join((*checks, "unsupported_method", "ignored_auth")),
            cwd=home.path,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
            stdout=-1,
            stderr=-2,
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()[-3000:]
    finally:
        assert await gateway.stop() == 0
    (agents,) = (path for path in home.path.iterdir() if path.name == "agents")
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", path.name) for path in agents.iterdir())


@pytest.mark.parametrize("client", ["claude-code", "claude-desktop", "cursor", "vscode"])
async def test_the_configuration_for_a_client_starts_the_server(home: Home, client: str) -> None:
    pasted = json.loads(await home.ok("mcp", "config", client))
    (server,) = next(iter(pasted.values())).values()
    parameters = StdioServerParameters(
        command=server["command"], args=server["args"], env={**home.env, **server["env"]}
    )
    async with Client(parameters) as connected:
        assert (await connected.list_tools()).tools
