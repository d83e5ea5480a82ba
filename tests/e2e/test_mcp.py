"""`postroom mcp` as clients meet it: a process, both transports, every tool, beside a running gateway."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from builder_skill.system_skill import NAME
from builder_skill.tools import CATALOGUE
from tests.support.gateway import POSTROOM, Home

AGENT: dict[str, Any] = {"id": "pier", "description": "Answers about the pier.", "status": "production"}
ROUTE = {"connectionId": "shop", "agentId": "pier", "scope": {"kind": "dm"}, "access": "open"}
SKILL = "---\nname: pier\ndescription: Answers about the pier.\n---\n\nThe pier opens at nine.\n"
CASES = json.dumps(
    {"cases": [{"name": "hours", "input": "When does the pier open?", "expect": {"contains": ["nine"]}}]}
)

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}


def start(home: Home, *options: str, **streams: Any) -> Any:
    return asyncio.create_subprocess_exec(POSTROOM, "mcp", *options, env=home.env, **streams)


@asynccontextmanager
async def stdio(home: Home, **options: Any) -> AsyncIterator[Client]:
    async with Client(StdioServerParameters(command=str(POSTROOM), args=["mcp"], env=home.env), **options) as client:
        yield client


@asynccontextmanager
async def serving(home: Home, *options: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """`postroom mcp --http` on a free port: its address, as it says it itself."""
    process = await start(home, "--http", "--port", "0", *options, stdout=-1, stderr=-1)
    try:
        async with asyncio.timeout(30):
            line = (await process.stderr.readline()).decode()
        yield line.split()[2].rstrip(";"), process
    finally:
        if process.returncode is None:
            process.terminate()
        out, _ = await process.communicate()
        assert out == b"", "the protocol goes over the socket, so nothing belongs on standard output"


@asynccontextmanager
async def http(home: Home, *, ask: bool = True, **options: Any) -> AsyncIterator[Client]:
    token = (await home.ok("mcp", "token")).strip()
    async with (
        serving(home, *(["--ask"] if ask else [])) as (url, _),
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as session,
        Client(streamable_http_client(url, http_client=session), **options) as client,
    ):
        yield client


class Owner:
    """Says yes at the client, and remembers to what."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def __call__(self, _context: object, params: Any) -> ElicitResult:
        self.shown.append(params.message.partition(" ")[0])
        return ElicitResult(action="accept", content={})


@pytest.mark.parametrize("connect", [stdio, http])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_every_tool_answers_and_every_change_is_asked_for(home: Home, connect: Any, mode: str) -> None:
    home.env["SHOP_TOKEN"] = "123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
    await home.ok("connection", "add", "telegram", "--id", "shop", "--token-env", "SHOP_TOKEN", "--owner", "7")
    owner, called = Owner(), []
    async with connect(home, mode=mode, elicitation_callback=owner) as client:

        async def use(name: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, (name, result.content)
            called.append(name)
            return result.structured_content

        assert "pier" not in [a["id"] for a in (await use("agent_list"))["agents"]]
        await use("agent_create", **AGENT)
        await use("agent_write_file", id="pier", path="skills/pier/SKILL.md", content=SKILL)
        await use("agent_write_file", id="pier", path="skills/pier/benchmarks.json", content=CASES)
        revision = (await use("agent_read", id="pier"))["revision"]
        await use("agent_update_manifest", id="pier", revision=revision, label="Pier")
        assert (await use("agent_validate", id="pier"))["valid"]
        assert (await use("agent_rehearse", id="pier"))["passed"]
        assert (await use("channel_connection_list"))["connections"][0]["secrets"] == {"hasBotToken": True}
        assert (await use("channel_route_list"))["routes"] == []
        found = await use("channel_route_preflight", **ROUTE)
        assert found["ok"], found["blockers"]
        deployed = await use("agent_deploy_channel", **ROUTE, fingerprint=found["fingerprint"])
        assert deployed["live"]
        assert (await use("channel_explain", connectionId="shop", text="hello"))["agentId"] == "pier"
        assert (await use("agent_diff", id="pier"))["diff"] == ""
        await use("channel_route_disable", routeId=deployed["route"]["id"])
        await use("channel_route_rollback")
        await use("channel_route_disable", routeId=deployed["route"]["id"])
        await use("agent_delete", id="pier")
        await use("agent_restore", id="pier")
    assert set(called) == set(CATALOGUE)
    assert owner.shown == [name for name in called if CATALOGUE[name].effect != "read"]


async def test_init_puts_the_builders_skill_there_and_doctor_sees_it_changed(home: Home) -> None:
    async def seen() -> bool:
        _, out, _ = await home.run("doctor", "--json")
        return {finding["code"]: finding["ok"] for finding in json.loads(out)}.get("builder_skill", False)

    assert not await seen()
    await home.ok("init")
    assert await seen()
    (home.path / "skills/.system" / NAME / "SKILL.md").write_text("Do as I say.")
    assert not await seen()
    await home.ok("init")
    assert await seen()


async def test_over_http_the_client_is_not_asked_unless_the_owner_said_so(home: Home) -> None:
    async with http(home, ask=False, elicitation_callback=Owner()) as client:
        result = await client.call_tool("agent_create", AGENT)
    assert "approval_needed" in result.content[0].text
    assert not (home.path / "agents").exists()


async def test_a_running_gateway_sees_what_was_deployed_beside_it(home: Home) -> None:
    home.env["SHOP_TOKEN"] = "123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
    await home.ok("connection", "add", "telegram", "--id", "shop", "--token-env", "SHOP_TOKEN", "--owner", "7")
    gateway = await home.up()
    try:
        async with stdio(home, elicitation_callback=Owner()) as client:
            result = await client.call_tool("agent_deploy_channel", {**ROUTE, "agentId": "front-desk"})
            assert result.structured_content["live"]
        token = (await home.ok("mcp", "token")).strip()
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(gateway.url, headers=headers) as session,
            session.post("/api/tools/channel_route_list", json={}) as response,
        ):
            (route,) = (await response.json())["routes"]
        assert (route["agentId"], route["enabled"]) == ("front-desk", True)
    finally:
        assert await gateway.stop() == 0


async def test_standard_output_carries_the_protocol_only(home: Home) -> None:
    process = await start(home, stdin=-1, stdout=-1, stderr=-1)
    lines = [
        json.dumps(HELLO),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "this is not JSON",
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "\\ud800"}}',
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "nothing"}}),
        json.dumps({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}),
    ]
    answers: dict[int, dict[str, Any]] = {}
    async with asyncio.timeout(30):
        process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        while 4 not in answers:
            answer = json.loads(await process.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            answers[answer.get("id")] = answer
        process.stdin.close()
        rest = await process.stdout.read()
        assert await process.wait() == 0
    assert rest == b""
    assert "tool_unknown" in json.dumps(answers[3]["result"])
    assert {t["name"] for t in answers[4]["result"]["tools"]} == set(CATALOGUE)


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
async def test_it_stops_when_told_although_it_reads(home: Home, told: signal.Signals) -> None:
    process = await start(home, stdin=-1, stdout=-1, stderr=-1)
    process.stdin.write(json.dumps(HELLO).encode() + b"\n")
    async with asyncio.timeout(20):
        assert await process.stdout.readline()
        process.send_signal(told)
        assert await process.wait() == -told
        assert await process.stderr.read() == b""


async def test_it_stops_when_told_although_a_client_listens(home: Home) -> None:
    token = (await home.ok("mcp", "token")).strip()
    async with (
        serving(home) as (url, process),
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as session,
        Client(streamable_http_client(url, http_client=session), mode="legacy") as client,
    ):
        assert (await client.list_tools()).tools
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            assert await process.wait() in (0, -signal.SIGTERM)


async def test_a_port_in_use_and_an_unknown_tool_are_said_in_words(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = await home.run("mcp", "--http", "--port", str(taken.getsockname()[1]))
    assert (code, "port_taken" in err, "Traceback" in err) == (1, True, False)
    code, _, err = await home.run("mcp", "--allow", "agent_creat")
    assert (code, "Did you mean agent_create" in err) == (1, True)


async def test_over_http_a_stranger_gets_nothing(home: Home) -> None:
    token = (await home.ok("mcp", "token")).strip()
    good = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with serving(home, "--allow-host", "agents.example") as (url, _), aiohttp.ClientSession() as session:
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer "}, 401),
            ({"Authorization": f"Bearer {token[:-1]}"}, 401),
            ({**good, "Origin": "https://evil.example"}, 403),
            ({**good, "Origin": "null"}, 403),
            ({**good, "Host": "evil.example"}, 421),
            ({**good, "Host": "127.0.0.1.evil.example:80"}, 421),
            ({**good, "Host": "agents.example.evil.example"}, 421),
        ):
            async with session.post(url, json=body, headers=headers) as response:
                assert response.status == status, headers
                assert "Access-Control-Allow-Origin" not in response.headers
        async with session.options(url, headers={"Origin": "https://evil.example"}) as response:
            assert response.status == 401
        async with session.post(
            url, data=b"x" * 2_000_000, headers={**good, "Content-Type": "application/json"}
        ) as big:
            assert big.status == 413
        for host in ("agents.example", url.split("/")[2]):
            async with session.post(url, json=HELLO, headers={**good, "Host": host}) as response:
                assert response.status == 200, host
