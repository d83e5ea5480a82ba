"""Where an agent keeps its state: one folder per conversation, per sender, or for all."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from agents_runtime.package import AgentPackage
from channels.message import Conversation

OWN = ("conversations", "senders")
"""Folders inside `state/` that hold live state; everything else there is what a new one begins with."""


def state_dir(package: AgentPackage, conversation: Conversation, sender_id: str, home: Path) -> Path:
    """The real folder behind `state/` for this turn, made and seeded on first use.

    It is inside the package's own `state/`; for a bundled package, which may be read-only, under `home/state/ID`.
    """
    seeds = package.directory / "state"
    base = home / "state" / package.id if package.source == "bundled" else seeds
    match package.manifest.state_scope:
        case "agent":
            folder = base
        case "sender":
            folder = base / "senders" / slug(f"{conversation.connection_id}/{sender_id}")
        case _:
            folder = base / "conversations" / slug(conversation.key)
    if not folder.is_dir():
        _seed(seeds, folder)
    return folder


def slug(key: str) -> str:
    """A folder name for any key: readable as far as it goes, and told apart by a digest."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", key).strip("-")[:40] or "x"
    return f"{plain}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _seed(seeds: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if folder == seeds or not seeds.is_dir():
        return
    for file in seeds.iterdir():
        if file.name not in OWN and file.is_file() and not file.is_symlink():
            shutil.copy2(file, folder / file.name)
