"""Slow clients, on a real server with a patience of a moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import ClientSession, web

from gateway.slow import Watch


@asynccontextmanager
async def serving(patience: float) -> AsyncIterator[int]:
    watch = Watch(patience)
    app = web.Application(middlewares=[watch.middleware])

    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(4):
            await asyncio.sleep(patience)
            await response.write(b"x")
        return response

    app.router.add_post("/echo", echo)
    app.router.add_get("/stream", stream)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert runner.server is not None
    watching = asyncio.create_task(watch.run(runner.server))
    try:
        yield runner.addresses[0][1]
    finally:
        watching.cancel()
        await runner.cleanup()


@pytest.mark.parametrize(
    "head",
    [b"", b"POST /echo HTTP/1.1\r\nHost: x\r\n", b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\nab"],
    ids=["silent", "in its head", "in its body"],
)
async def test_who_drips_is_cut_off_and_others_are_served(head):
    async with serving(0.2) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)

        async def drip() -> None:
            while True:
                writer.write(b"a")
                await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip()) if head else None
        async with ClientSession() as session, session.post(f"http://127.0.0.1:{port}/echo", data=b"hi") as response:
            assert await response.text() == "hi"
        async with asyncio.timeout(10):
            with suppress(ConnectionError):
                while await reader.read(1000):
                    pass
        if dripping:
            dripping.cancel()
            await asyncio.gather(dripping, return_exceptions=True)
        writer.close()


async def test_an_answer_may_take_its_time():
    async with (
        serving(0.2) as port,
        ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/stream") as response,
    ):
        assert await response.read() == b"xxxx"
