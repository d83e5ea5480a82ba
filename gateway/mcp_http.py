"""The MCP server over streamable HTTP, behind the access token. Imports mcp and uvicorn: only `postroom mcp` does."""

from __future__ import annotations

from collections.abc import Callable

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.access_token import shows_token

PATH = "/mcp"

MAX_BODY = 1_000_000


class Guarded:
    """Lets in who shows the token."""

    def __init__(self, app: ASGIApp, token: Callable[[], str]) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, or hand the request on."""
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            if not shows_token(headers.get(b"authorization", b"").decode("latin-1"), self._token()):
                error = {"code": "unauthorised", "message": "No valid token.", "fix": "See: postroom mcp token"}
                refused = JSONResponse({"error": error}, 401, {"WWW-Authenticate": "Bearer"})
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def serve(server: Server, token: Callable[[], str], host: str, port: int, hosts: list[str]) -> None:
    """Serve until stopped. `hosts` are further Host headers to answer to, for a proxy in front."""
    local = ["127.0.0.1", "localhost", "[::1]"]
    security = TransportSecuritySettings(
        allowed_hosts=[*(f"{name}:*" for name in local), *hosts],
        allowed_origins=[*(f"http://{name}:*" for name in local), *(f"https://{name}" for name in hosts)],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=MAX_BODY, host=host
    )
    config = uvicorn.Config(Guarded(app, token), host=host, port=port, log_level="warning", access_log=False)
    await uvicorn.Server(config).serve()
