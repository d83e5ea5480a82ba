"""`emulate`, a Slack and a Twilio that others wrote: an npm package, kept beside the virtual environment's libraries.

Its tests are collected where it is there, and it is installed when a test run begins, where node and npm are. Where it
can't be, nothing is marked as skipped: the run says at its end that they were not part of it, and why.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = "emulate@0.11.2"
FOLDER = Path(sys.prefix) / "share" / PACKAGE
API = FOLDER / "node_modules" / "emulate" / "dist" / "api.js"
RUNNER = Path(__file__).with_suffix(".mjs")
INSTALL = ("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--fetch-retries=0")


@dataclass(frozen=True)
class Emulators:
    """Where the emulators are."""

    slack: str
    twilio: str


def is_there() -> bool:
    """Whether the emulators can be run."""
    return shutil.which("node") is not None and API.exists()


def install() -> str:
    """Install the package unless it is there; why it could not be, or an empty string."""
    if is_there():
        return ""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return "node and npm are not both installed"
    try:
        FOLDER.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER.parent) as half:
            command = [npm, *INSTALL, "--prefix", half, PACKAGE]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
            shutil.copytree(half, FOLDER, dirs_exist_ok=True, symlinks=True)
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.strip()]
        return f"npm could not install it: {lines[0] if lines else error}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it could not be installed: {error}"
    return ""


@contextmanager
def running(seed: dict[str, Any]) -> Iterator[Emulators]:
    """Both emulators in one process, filled with a seed in emulate's own words."""
    command = ["node", str(RUNNER), str(API), json.dumps(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Emulators(**json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()
