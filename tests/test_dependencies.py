"""The look at dependencies sees what it is for; OSV is a stand-in on loopback."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.support import dependencies
from tests.support.dependencies import faults_of_lock, holes, main, pinned, undecided

GOOD = """
aiohttp==3.14.5 \\
    --hash=sha256:00 \\
    --hash=sha256:11
    # via postroom
uvloop==0.23 ; sys_platform != 'win32' \\
    --hash=sha256:22
""".lstrip()


def test_what_is_locked_here_is_in_order():
    assert dependencies.look() == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD, []),
        ("aiohttp>=3.14 \\\n    --hash=sha256:00\n", ["not an exact version"]),
        ("aiohttp==3.14.5\n    # via postroom\n", ["no hash"]),
        (f"--index-url https://pypi.example.com\n{GOOD}", ["not an exact version", "an address"]),
    ],
)
def test_a_lock_that_is_not_exact_is_told(text: str, told: list[str]):
    found = [fault.split(": ")[1] for fault in faults_of_lock("run.txt", text)]
    assert found == told


def test_names_and_versions_are_read():
    assert pinned(GOOD) == {"aiohttp": "3.14.5", "uvloop": "0.23"}


def test_a_licence_that_was_not_agreed_on_is_told(monkeypatch: pytest.MonkeyPatch):
    for licence, fine in (("MIT", True), ("AGPL-3.0-only", False), ("", False)):
        told = type("Told", (dict,), {"get_all": lambda _self, _name: []})({"License-Expression": licence})
        monkeypatch.setattr(dependencies, "metadata", lambda _name, told=told: told)
        assert (list(dependencies.faults_of_licence("x")) == []) is fine, licence


def test_a_dependency_without_a_decision_is_told():
    project = {"dependencies": ["aiohttp>=3.14", "psycopg[binary]>=3", "mystery"]}
    assert [line.split(":")[0] for line in undecided(project, "AIOHTTP and psycopg")] == ["mystery"]


@pytest.fixture
def osv():
    class Osv(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            bad = [{"vulns": [{"id": "GHSA-1"}]} if q["package"]["name"] == "aiohttp" else {} for q in asked]
            body = json.dumps({"results": bad}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Osv)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_known_holes_are_told_by_package_and_version(osv: str, monkeypatch: pytest.MonkeyPatch, capsys):
    assert holes({"aiohttp": "3.9.0", "rich": "15.0"}, osv) == ["aiohttp 3.9.0: GHSA-1"]
    monkeypatch.setenv("OSV_URL", osv)
    assert main(["--holes"]) == 1
    assert "GHSA-1" in capsys.readouterr().out
    monkeypatch.setenv("OSV_URL", "http://127.0.0.1:9")
    assert main(["--holes"]) == 2
