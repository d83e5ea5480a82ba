"""A channel of somebody else's, installed beside Postroom for one test."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from channels import registry

PIGEON = Path(__file__).with_name("pigeon")


def install(project: Path, into: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What an editable install does: entry points on the path, here and, by the PYTHONPATH returned, elsewhere."""
    told = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    info = into / f"{told['name'].replace('-', '_')}-{told['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: {told['version']}\n")
    lines = (
        f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in found.items())
        for group, found in told["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for path in (into, project):
        monkeypatch.syspath_prepend(path)
    registry.load.cache_clear()
    return f"{into}:{project}"
