"""What Postroom stands on: `make check` looks at the locks and licences, `make audit` asks OSV for known holes.

python -m tests.support.dependencies            # offline
python -m tests.support.dependencies --holes    # asks https://api.osv.dev, or OSV_URL
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements/run.txt", "requirements/dev.txt")
OSV = "https://api.osv.dev"

ALLOWED = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla Public|LGPL-3\.0|0BSD|Unlicense|DFSG", re.IGNORECASE
)
"""Licences that a product under Apache-2.0 can stand on as it is: as libraries, unchanged."""

BY_ITS_FILE: Mapping[str, str] = {"axe-playwright-python": "MIT"}
"""Those that tell their licence in a file and not in their metadata, as read there."""

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def pinned(text: str) -> dict[str, str]:
    """Names and versions in a lock."""
    return {name.lower(): version for name, version in _PINNED.findall(text)}


def faults_of_lock(name: str, text: str) -> Iterator[str]:
    """Entries without an exact version or a hash, and addresses of any registry."""
    for entry in re.split(r"\n(?=\S)", text.strip()):
        if entry.startswith("#"):
            continue
        first = entry.splitlines()[0]
        if not _PINNED.match(first):
            yield f"{name}: not an exact version: {first}"
        elif "--hash=sha256:" not in entry:
            yield f"{name}: no hash: {first}"
    for host in re.findall(r"https?://\S+|--(?:extra-)?index-url.*", text):
        yield f"{name}: an address: {host}"


def faults_of_licence(package: str) -> Iterator[str]:
    """An installed package whose licence is none of those allowed, or isn't told."""
    try:
        told = metadata(package)
    except PackageNotFoundError:
        return  # for another platform
    classified = [c for c in told.get_all("Classifier") or () if c.startswith("License")]
    licence = "; ".join(filter(None, [told.get("License-Expression"), *classified, (told.get("License") or "")[:60]]))
    licence = licence or BY_ITS_FILE.get(package, "")
    if not ALLOWED.search(licence):
        yield f"{package}: its licence is not one of those agreed on: {licence or 'none told'}"


def undecided(project: Mapping[str, object], decisions: str) -> Iterator[str]:
    """Direct dependencies that no decision names."""
    for wanted in project["dependencies"]:  # type: ignore[attr-defined]
        name = re.split(r"[\[<>=;~! ]", wanted)[0]
        if name.lower() not in decisions.lower():
            yield f"{name}: no decision in docs/decisions says why it is there"


def holes(pins: Mapping[str, str], url: str) -> list[str]:
    """Known holes in these versions. Raises OSError where OSV can't be reached."""
    queries = [{"package": {"name": n, "ecosystem": "PyPI"}, "version": v} for n, v in pins.items()]
    request = urllib.request.Request(  # noqa: S310 - the address is ours
        f"{url}/v1/querybatch", json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
        results = json.load(response)["results"]
    return [
        f"{name} {version}: {', '.join(hole['id'] for hole in result['vulns'])}"
        for (name, version), result in zip(pins.items(), results, strict=True)
        if result.get("vulns")
    ]


def look() -> list[str]:
    """Everything that can be said without a network."""
    texts = {name: (ROOT / name).read_text() for name in LOCKS}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    decisions = "\n".join(path.read_text() for path in (ROOT / "docs/decisions").glob("*.md"))
    packages = sorted({package for text in texts.values() for package in pinned(text)})
    return [
        *(fault for name, text in texts.items() for fault in faults_of_lock(name, text)),
        *(fault for package in packages for fault in faults_of_licence(package)),
        *undecided(project, decisions),
    ]


def main(arguments: list[str]) -> int:
    """0 where nothing is wrong."""
    if arguments == ["--holes"]:
        pins = {k: v for name in LOCKS for k, v in pinned((ROOT / name).read_text()).items()}
        try:
            found = holes(pins, os.environ.get("OSV_URL", OSV))
        except (OSError, urllib.error.URLError) as error:
            print(f"OSV can't be asked: {error}")  # noqa: T201
            return 2
    else:
        found = look()
    print("\n".join(found) or "Nothing wrong with the dependencies.")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
