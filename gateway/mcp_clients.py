"""What to paste into an MCP client so that it finds the builder's tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from channels.errors import PostroomError

Client = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex"]

TOKEN_VARIABLE = "POSTROOM_MCP_TOKEN"  # noqa: S105 - a name, not a token
"""The environment variable of the client's that holds the access token: no file holds the token itself."""

FILES: Mapping[Client, str] = {
    "claude-code": ".mcp.json in the project",
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json in the project",
    "vscode": ".vscode/mcp.json in the project",
    "codex": "~/.codex/config.toml",
}


class ClientWithoutHttp(PostroomError):
    """The client only starts servers of its own."""

    code = "client_without_http"


@dataclass(frozen=True, slots=True)
class Pasted:
    """The text, the file it goes into, and what else to do."""

    file: str
    text: str
    then: str = ""


def started(client: Client, command: str, home: str) -> Pasted:
    """For a client that starts `command` itself and speaks with it over standard input and output."""
    server: dict[str, JsonValue] = {"command": command, "args": ["mcp"], "env": {"POSTROOM_HOME": home}}
    typed: dict[str, JsonValue] = {"type": "stdio", **server}
    match client:
        case "codex":
            lines = (
                "[mcp_servers.postroom]",
                f"command = {_quoted(command)}",
                'args = ["mcp"]',
                f"env = {{ POSTROOM_HOME = {_quoted(home)} }}",
            )
            text = "\n".join(lines) + "\n"
        case "vscode":
            text = _json({"servers": {"postroom": typed}})
        case "claude-desktop":
            text = _json({"mcpServers": {"postroom": server}})
        case _:
            text = _json({"mcpServers": {"postroom": typed}})
    return Pasted(FILES[client], text)


def reached(client: Client, url: str) -> Pasted:
    """For a client that goes to a server that runs already. Raises ClientWithoutHttp."""
    then = f"export {TOKEN_VARIABLE}=$(postroom mcp token), where the client is started"
    match client:
        case "claude-desktop":
            raise ClientWithoutHttp(
                "Claude Desktop's file has no servers that run already.", fix="Leave out --url: it starts its own."
            )
        case "codex":
            text = f"[mcp_servers.postroom]\nurl = {_quoted(url)}\nbearer_token_env_var = {_quoted(TOKEN_VARIABLE)}\n"
        case "vscode":
            asked: JsonValue = [
                {"type": "promptString", "id": "postroom-token", "description": "postroom mcp token", "password": True}
            ]
            text = _json({"inputs": asked, "servers": {"postroom": _at(url, "${input:postroom-token}")}})
            then = "VS Code asks for the token once: postroom mcp token"
        case "cursor":
            text = _json({"mcpServers": {"postroom": _at(url, f"${{env:{TOKEN_VARIABLE}}}")}})
        case "claude-code":
            text = _json({"mcpServers": {"postroom": _at(url, f"${{{TOKEN_VARIABLE}}}")}})
    return Pasted(FILES[client], text, then)


def _at(url: str, token: str) -> JsonValue:
    return {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}


def _json(value: JsonValue) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _quoted(text: str) -> str:
    """A TOML basic string. JSON's own escapes are TOML's, but for pairs of surrogates, which are left out here."""
    return json.dumps(text, ensure_ascii=False)
