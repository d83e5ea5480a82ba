"""What is pasted into a client's configuration, in the form that each client reads."""

from __future__ import annotations

import json
import tomllib
from typing import get_args

import pytest

from gateway.mcp_clients import TOKEN_VARIABLE, Client, ClientWithoutHttp, reached, started

COMMAND = '/opt/my "tools" 😀/postroom'
HOME = "C:\\Users\\Zoë\\.postroom"
URL = "http://127.0.0.1:8090/mcp"


def parsed(client: Client, text: str) -> dict:
    return tomllib.loads(text) if client == "codex" else json.loads(text)


@pytest.mark.parametrize(
    ("client", "under", "more"),
    [
        ("claude-code", "mcpServers", {"type": "stdio"}),
        ("claude-desktop", "mcpServers", {}),
        ("cursor", "mcpServers", {"type": "stdio"}),
        ("vscode", "servers", {"type": "stdio"}),
        ("codex", "mcp_servers", {}),
    ],
)
def test_a_client_that_starts_the_server(client: Client, under: str, more: dict[str, str]) -> None:
    server = {"command": COMMAND, "args": ["mcp"], "env": {"POSTROOM_HOME": HOME}, **more}
    assert parsed(client, started(client, COMMAND, HOME).text) == {under: {"postroom": server}}


@pytest.mark.parametrize(
    ("client", "under", "token"),
    [
        ("claude-code", "mcpServers", f"${{{TOKEN_VARIABLE}}}"),
        ("cursor", "mcpServers", f"${{env:{TOKEN_VARIABLE}}}"),
        ("vscode", "servers", "${input:postroom-token}"),
    ],
)
def test_a_client_that_goes_to_a_running_server_takes_the_token_from_elsewhere(
    client: Client, under: str, token: str
) -> None:
    pasted = parsed(client, reached(client, URL).text)
    server = {"type": "http", "url": URL, "headers": {"Authorization": f"Bearer {token}"}}
    assert pasted[under] == {"postroom": server}
    if client == "vscode":
        (asked,) = pasted["inputs"]
        assert (asked["type"], asked["id"], asked["password"]) == ("promptString", "postroom-token", True)


def test_codex_names_the_variable_of_the_token() -> None:
    server = {"url": URL, "bearer_token_env_var": TOKEN_VARIABLE}
    assert parsed("codex", reached("codex", URL).text) == {"mcp_servers": {"postroom": server}}


def test_claude_desktop_is_told_to_start_its_own() -> None:
    with pytest.raises(ClientWithoutHttp) as caught:
        reached("claude-desktop", URL)
    assert "--url" in caught.value.fix


@pytest.mark.parametrize("client", get_args(Client))
def test_each_says_which_file(client: Client) -> None:
    assert started(client, COMMAND, HOME).file
