"""Processes of `postroom`, forked by the nursery: what asyncio's own have, as far as tests ask for it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

NURSERY = Path(__file__).with_name("nursery.py")


class Process:
    """A running `postroom`. `stdout` is None where it is thrown away."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader | None, stderr: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._ended: asyncio.Task[int]

    async def wait(self) -> int:
        """Its exit code, once it ended; minus the signal that ended it."""
        return await asyncio.shield(self._ended)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def communicate(self) -> tuple[bytes, bytes]:
        """What it said on both streams until its end."""
        out, err = await asyncio.gather(self.stdout.read() if self.stdout else _nothing(), self.stderr.read())
        await self.wait()
        return out, err

    def watch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Learn of its end over the nursery's connection."""

        async def watch() -> int:
            self.returncode = os.waitstatus_to_exitcode(int(await reader.readline()))
            writer.close()
            return self.returncode

        self._ended = asyncio.create_task(watch())


async def spawn(args: list[str], env: dict[str, str], *, stdin: bytes = b"", keep_stdout: bool = True) -> Process:
    """Start `postroom` with these arguments. `stdin` has to fit into a pipe."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(_nursery())
    given, to_give = os.pipe()
    os.write(to_give, stdin)
    os.close(to_give)
    read_out, out = os.pipe() if keep_stdout else (None, os.open(os.devnull, os.O_WRONLY))
    read_err, err = os.pipe()
    socket.send_fds(connection, [json.dumps({"args": args, "env": env}).encode()], [given, out, err])
    for descriptor in (given, out, err):
        os.close(descriptor)
    reader, writer = await asyncio.open_connection(sock=connection)
    stdout = await _reader(read_out) if read_out is not None else None
    process = Process(int(await reader.readline()), stdout, await _reader(read_err))
    process.watch(reader, writer)
    return process


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb"))
    return reader


async def _nothing() -> bytes:
    return b""


@cache
def _nursery() -> str:
    """The socket of this test process's nursery, started at first need and ended with the test process."""
    folder = tempfile.TemporaryDirectory(prefix="nursery-")
    address = str(Path(folder.name) / "socket")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("POSTROOM_", "OPENAI_", "ANTHROPIC_"))}
    process = subprocess.Popen([sys.executable, "-P", NURSERY, address], stdin=-1, stdout=-1, env=env)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return address
