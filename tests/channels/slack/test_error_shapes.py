"""The shapes that slack-sdk's own tests fail with, as bytes on the wire, and some that no HTTP library would write.

Each is told apart the same way whatever call it meets, is tried once only, and leaves the client fit for the next call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from channels.adapter import Call, Receipt
from channels.errors import SendRefused, SendRetry
from tests.channels.slack.support import AUTH, opened

CALL = Call("chat.postMessage", {"channel": "C1", "text": "hi"}, "C1")
SERVER_ERROR = "<!DOCTYPE html><html><title>Server Error | Slack</title><p>It seems there’s a problem …</p></html>"
NOT_FOUND = "<!DOCTYPE HTML><html><h1>Not Found</h1><p>The requested URL was not found on this server.</p></html>"
HANG = b"HANG"
"""Instead of the rest of an answer: nothing more, ever."""
RESET = b"RESET"
"""Instead of the rest of an answer: the connection is reset."""
CLOSE = b"CLOSE"
"""After an answer, or instead of its rest: the connection is closed."""


def answer(status: int, body: str | bytes, *headers: str, kind: str = "application/json;charset=utf-8", size: int = 0):
    content = body.encode() if isinstance(body, str) else body
    lines = (f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {size or len(content)}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def chunked(*pieces: bytes, end: bool = True) -> bytes:
    head = b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head + body + (b"0\r\n\r\n" if end else b"")


@dataclass(frozen=True)
class Shape:
    """What comes, and what it means. `reason` is a refusal's; without one it is worth another try."""

    bytes: bytes
    sent: bool | None = None
    after: float | None = None
    reason: str = ""
    broken: bool = False


LIMITED = '{"ok":false,"error":"ratelimited"}'
SHAPES = {
    "rate limited": Shape(answer(429, LIMITED, "Retry-After: 1"), sent=False, after=1.0),
    "rate limited, header in small letters": Shape(answer(429, LIMITED, "retry-after: 30"), sent=False, after=30.0),
    "rate limited, no header": Shape(answer(429, LIMITED), sent=False),
    "rate limited, header without a number": Shape(answer(429, LIMITED, "Retry-After: later"), sent=False),
    "rate limited, header below nothing": Shape(answer(429, LIMITED, "Retry-After: -5"), sent=False, after=0.0),
    "rate limited by a proxy in HTML": Shape(answer(429, "<html>", "Retry-After: 2", kind="text/html"), False, 2.0),
    "rate limited with status 200": Shape(answer(200, LIMITED, "Retry-After: 3"), sent=False, after=3.0),
    "fatal error": Shape(answer(200, '{"ok":false,"error":"fatal_error"}')),
    "unknown error": Shape(answer(200, '{"ok":false,"error":"quite_new"}'), reason="quite_new"),
    "unknown error with status 400": Shape(answer(400, '{"ok":false,"error":"quite_new"}'), reason="quite_new"),
    "wrong token": Shape(answer(200, '{"ok":false,"error":"invalid_auth"}'), reason="invalid_auth", broken=True),
    "not ok, and nothing else": Shape(answer(200, '{"ok":false}')),
    "not ok, with an error that is null": Shape(answer(200, '{"ok":false,"error":null}')),
    **{f"{status} with nothing else": Shape(answer(status, '{"ok":false}')) for status in (400, 404, 500, 502, 503)},
    "server error in HTML, no charset": Shape(answer(503, SERVER_ERROR, "Connection: close", kind="text/html") + CLOSE),
    "server error, empty": Shape(answer(500, "", kind="text/html")),
    "not found in HTML": Shape(answer(404, NOT_FOUND, kind="text/html; charset=utf-8")),
    "HTML with status 200": Shape(answer(200, "<html>Log in</html>", kind="text/html")),
    "JSON with its end missing": Shape(answer(200, '{"ok":true,"channel":"C1","ts":"1')),
    "JSON that is not UTF-8": Shape(answer(200, b'{"ok":true,"ts":"\xff\xfe"}')),
    "JSON that is no object": Shape(answer(200, '["ok"]')),
    "an empty answer": Shape(answer(200, "")),
    "less than was announced": Shape(answer(200, '{"ok":true', size=500) + CLOSE),
    "less than was announced, then a reset": Shape(answer(200, '{"ok":true', size=500) + RESET),
    "chunks without an end": Shape(chunked(b'{"ok":true,', end=False) + CLOSE),
    "not compressed as it says": Shape(answer(200, '{"ok":true}', "Content-Encoding: gzip")),
    "not HTTP": Shape(b"SSH-2.0-OpenSSH_9.6\r\n" + CLOSE),
    "hung up at once": Shape(CLOSE),
    "reset at once": Shape(RESET),
    "no answer in time": Shape(HANG),
    "no end in time": Shape(answer(200, '{"ok":true', size=500) + HANG),
}


class Wire:
    """A server that answers every request with the bytes it is told."""

    def __init__(self, good: dict[str, object]) -> None:
        self.bytes = answer(200, json.dumps(good))
        self.requests = 0
        self.url = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await self._request(reader):
            self.requests += 1
            assert head.startswith("POST /api/")
            said, ending = self.bytes, b""
            for mark in (HANG, RESET, CLOSE):
                if said.endswith(mark):
                    said, ending = said.removesuffix(mark), mark
            writer.write(said)
            await writer.drain()
            if ending == HANG:
                await reader.read()
            if ending == RESET:
                writer.transport.abort()
            if ending:
                break
        writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> str:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, ConnectionError):
            return ""
        sizes = [line.partition(":")[2] for line in head.split("\r\n") if line.lower().startswith("content-length:")]
        await reader.readexactly(int(sizes[0]) if sizes else 0)
        return head


@asynccontextmanager
async def listening(wire: Wire) -> AsyncIterator[Wire]:
    server = await asyncio.start_server(wire.talk, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/api/"
    try:
        yield wire
    finally:
        server.close()


@pytest.fixture
async def wire(monkeypatch):
    monkeypatch.setattr("channels.slack.client.CALL_SECONDS", 0.3)
    async with listening(Wire({**AUTH, "channel": "C1", "ts": "1.2"})) as wire:
        yield wire


@pytest.fixture
async def adapter(wire):
    async with opened(wire.url) as adapter:
        yield adapter


every_shape = pytest.mark.parametrize("name", list(SHAPES))


@every_shape
async def test_it_is_told_for_what_it_is_and_the_next_call_goes_through(wire, adapter, name):
    shape, good = SHAPES[name], wire.bytes
    wire.bytes = shape.bytes
    with pytest.raises((SendRetry, SendRefused)) as raised:
        await adapter.send(CALL)
    assert wire.requests == 1
    error = raised.value
    if isinstance(error, SendRefused):
        assert (error.reason, error.connection_broken) == (shape.reason, shape.broken)
    else:
        assert not shape.reason
        assert (error.sent, error.after) == (shape.sent, shape.after)
    assert error.message
    assert "xoxb" not in str(error)
    wire.bytes = good
    assert await adapter.send(CALL) == Receipt("C1:1.2")


@every_shape
async def test_a_check_reports_it(wire, adapter, name):
    wire.bytes = SHAPES[name].bytes
    report = await adapter.check()
    assert not report.ok
    (finding,) = report.findings
    assert finding.code == ("token" if SHAPES[name].reason else "unreachable")


@every_shape
async def test_a_file_that_met_it_on_the_way_was_certainly_not_sent(wire, adapter, name, tmp_path):
    (tmp_path / "menu.pdf").write_bytes(b"%PDF")
    wire.bytes = SHAPES[name].bytes
    upload = Call("files.upload", {"channel_id": "C1", "path": str(tmp_path / "menu.pdf"), "filename": "m"}, "C1")
    with pytest.raises((SendRetry, SendRefused)) as raised:
        await adapter.send(upload)
    if isinstance(raised.value, SendRetry):
        assert raised.value.sent is False
