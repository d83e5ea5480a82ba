"""A real Chromium, driven by Playwright: found where it is, and brought where it is missing.

python -m tests.support.browser        # brings one, as `make test` does
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",
    "--disable-quic",
)
"""Nothing of the browser's own goes over the network."""


def find() -> str | None:
    """The browser there is: the system's, or the one that Playwright keeps."""
    named = next((path for name in NAMES if (path := shutil.which(name))), None)
    if named is not None:
        return named
    kept = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache/ms-playwright")
    return next((str(path) for path in sorted(kept.glob("chromium-*/chrome-linux*/chrome"))), None)


def bring() -> str:
    """Find one, or install one: Playwright's own, else Debian's."""
    ways = [
        [sys.executable, "-m", "playwright", "install", "chromium"],
        ["apt-get", "install", "-y", "--no-install-recommends", "chromium"],
        ["sh", "-c", "apt-get update && apt-get install -y --no-install-recommends chromium"],
    ]
    for way in ways if shutil.which("apt-get") and os.geteuid() == 0 else ways[:1]:
        if (found := find()) is not None:
            return found
        subprocess.run(way, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    found = find()
    if found is None:
        raise SystemExit("The console's tests need Chromium: install it, or run `playwright install chromium`.")
    return found


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    """A headless one, closed at the end."""
    path = find()
    assert path is not None, "bring a browser first: python -m tests.support.browser"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=QUIET, chromium_sandbox=False)
        yield browser
        await browser.close()


if __name__ == "__main__":
    sys.stdout.write(f"{bring()}\n")
