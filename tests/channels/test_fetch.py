"""Fetching: only public places, credentials only where they belong, and never more than asked for."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from channels.fetch import FetchFailed, FetchRefused, Source, fetch


async def collect(source: Source, limit: int = 1000) -> bytes:
    return b"".join([chunk async for chunk in fetch(source, limit)])


@pytest.fixture
async def server():
    """A file, a redirect to another host, and what each request carried."""
    seen: list[tuple[str, str | None]] = []
    app = web.Application()

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append((request.path, request.headers.get("Authorization")))
        match request.path:
            case "/file":
                return web.Response(body=b"x" * 100, content_type="image/png")
            case "/login":
                return web.Response(text="<html>", content_type="text/html")
            case "/away":
                raise web.HTTPFound(f"http://localhost:{request.url.port}/file")
            case "/inside":
                raise web.HTTPFound("https://169.254.169.254/latest/meta-data")
            case "/round":
                raise web.HTTPFound("/round")
            case "/endless":
                response = web.StreamResponse()
                await response.prepare(request)
                for _ in range(100):
                    await response.write(b"y" * 100)
                return response
        raise web.HTTPNotFound

    app.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(app) as running:
        running.seen = seen  # type: ignore[attr-defined]
        yield running


def source(server: TestServer, path: str, **changes: frozenset[str]) -> Source:
    own = f"127.0.0.1:{server.port}"
    places = {"trusted": frozenset({own, f"localhost:{server.port}"}), "auth_hosts": frozenset({own})}
    return Source(f"http://{own}{path}", {"Authorization": "Bearer t"}, **{**places, **changes})


async def test_a_file_comes_whole_and_with_the_credentials(server):
    assert len(await collect(source(server, "/file"))) == 100
    assert server.seen == [("/file", "Bearer t")]


async def test_credentials_do_not_follow_a_redirect_to_another_host(server):
    await collect(source(server, "/away"))
    assert server.seen == [("/away", "Bearer t"), ("/file", None)]


@pytest.mark.parametrize("path", ["/inside", "/round"])
async def test_a_redirect_inside_or_in_circles_is_refused(server, path):
    with pytest.raises(FetchRefused):
        await collect(source(server, path))


async def test_more_than_allowed_is_refused_whether_announced_or_not(server):
    with pytest.raises(FetchRefused, match="larger"):
        await collect(source(server, "/file"), 99)
    with pytest.raises(FetchRefused, match="larger"):
        await collect(source(server, "/endless"), 500)


async def test_a_login_page_is_not_the_file(server):
    with pytest.raises(FetchRefused, match="text/html"):
        await collect(source(server, "/login", refuse_types=frozenset({"text/html"})))


async def test_an_error_answer_is_a_passing_failure(server):
    with pytest.raises(FetchFailed, match="404"):
        await collect(source(server, "/gone"))


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/x",
        "https://10.0.0.1/x",
        "https://[::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "https://192.168.1.1:8443/x",
        "https://0.0.0.0/x",
        "https://localhost/x",
        "http://example.com/x",
        "https://user:pw@example.com/x",
        "file:///etc/passwd",
        "https:///x",
        "https://example.com:99999/x",
        "",
    ],
)
async def test_private_and_odd_addresses_are_refused_before_anything_is_sent(url):
    with pytest.raises(FetchRefused):
        await collect(Source(url, {}))
