"""The MCP server over streamable HTTP, behind the access token. Imports mcp and uvicorn: only `postroom mcp` does."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from channels.errors import PostroomError
from gateway.access_token import shows_token
from gateway.ports import PortTaken

PATH = "/mcp"

MAX_BODY = 1_000_000

PATIENCE = 3
"""Seconds that running calls get when the server is told to stop: a rehearsal with a slow model may take minutes."""


class Guarded:
    """Lets in who shows the token."""

    def __init__(self, app: ASGIApp, token: Callable[[], str]) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, or hand the request on."""
        if scope["type"] != "lifespan" and (refused := self._refusal(scope)) is not None:
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        shown = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        try:
            if shows_token(shown, self._token()):
                return None
        except PostroomError as error:
            return _told(503, error.code, error.message, error.fix)
        return _told(401, "unauthorised", "No valid token.", "Show the token of: postroom mcp token")


def _told(status: int, code: str, message: str, fix: str) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": {"code": code, "message": message, "fix": fix}}, status, headers)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises PortTaken."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise PortTaken(host, port, error) from error


async def serve(server: Server, token: Callable[[], str], listening: socket.socket, hosts: list[str]) -> None:
    """Serve until stopped. `hosts` are further Host headers to answer to, for a proxy in front."""
    local = ["127.0.0.1", "localhost", "[::1]"]
    security = TransportSecuritySettings(
        allowed_hosts=[*(f"{name}:*" for name in local), *hosts],
        allowed_origins=[*(f"http://{name}:*" for name in local), *(f"https://{name}" for name in hosts)],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=MAX_BODY
    )
    config = uvicorn.Config(
        Guarded(app, token), log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=PATIENCE
    )
    await uvicorn.Server(config).serve([listening])
