"""Where a public address leads, found out by asking it."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.reach import reach


def error(code: str, status: int) -> web.Response:
    return web.json_response({"error": {"code": code}}, status=status)


@pytest.mark.parametrize(
    ("answer", "ok", "words"),
    [
        (lambda: error("verification_failed", 401), True, "leads to this connection"),
        (lambda: error("verification_failed", 403), True, "leads to this connection"),
        (lambda: error("hook_unknown", 404), False, "doesn't have this connection open"),
        (lambda: web.Response(status=502, text="<h1>Bad gateway</h1>"), False, "answers 502"),
        (lambda: web.json_response([1]), False, "answers 200"),
        (lambda: web.Response(status=302, headers={"Location": "/"}), False, "answers 302"),
    ],
)
async def test_what_answers_tells_where_it_leads(answer, ok, words):
    async def handle(_request: web.Request) -> web.Response:
        return answer()

    app = web.Application()
    app.router.add_get("/hooks/shop/secret", handle)
    async with TestServer(app) as server:
        finding = await reach(str(server.make_url("/hooks/shop/secret")))
    assert (finding.ok, words in finding.message, bool(finding.fix)) == (ok, True, not ok)
    assert "secret" not in finding.message


async def test_nobody_there_is_told_without_the_address():
    finding = await reach("http://127.0.0.1:9/hooks/shop/secret")
    assert (finding.code, finding.ok) == ("hook", False)
    assert "secret" not in finding.message + finding.fix
