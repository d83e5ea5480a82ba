"""Processes that need not import everything first: one that has all of Postroom imported, and forks at each request.

Run as `python nursery.py SOCKET`; it ends when its standard input does. A request comes on a connection of its own: a
line of JSON, {"args", "env"}, with the three standard streams of the new process. It is answered with a line that has
the process id, and one with the wait status. What runs is the `postroom` command itself, in a process of its own, that
can be killed like any other; only its imports were done before.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import random
import select
import signal
import socket
import sys
import traceback
from pathlib import Path

ROOMS = ("channels", "routes", "agents_runtime", "builder_skill", "gateway")
LAZY = ("pydantic_ai.models.openai", "pydantic_ai.providers.openai", "telegram.ext", "twilio.rest", "uvloop")
"""What Postroom imports when it is first needed."""

REQUEST_MAX = 1 << 20


def main() -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(64)
    for room in ROOMS:
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(package.__path__, f"{room}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in LAZY:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the ones that wait
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            attend(connection)
        connection.close()


def attend(connection: socket.socket) -> None:
    """Start one process, wait for it, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams, _, _ = socket.recv_fds(connection, REQUEST_MAX, 3)
    pid = os.fork()
    if pid == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        become(**json.loads(request))
    for number, stream in enumerate(streams):
        os.close(stream)
        os.close(number)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    connection.sendall(f"{status}\n".encode())
    os._exit(0)


def become(args: list[str], env: dict[str, str]) -> None:
    """Run the command, and end as an interpreter would."""
    code: object = 1
    try:
        os.environ.clear()
        os.environ.update(env)
        sys.path[:0] = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path]
        sys.argv = [str(Path(sys.executable).with_name("postroom")), *args]
        random.seed()
        from gateway.cli import main as postroom

        postroom()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
