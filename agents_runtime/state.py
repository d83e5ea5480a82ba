"""Where an agent keeps its state: one folder per conversation, per sender, or for all."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agents_runtime.invalid import AgentInvalid
from agents_runtime.package import AgentPackage
from channels.message import Conversation

OWN = ("conversations", "senders")
"""Folders inside `state/` that hold live state; everything else there is what a new one begins with."""


def state_dir(package: AgentPackage, conversation: Conversation, sender_id: str, home: Path) -> Path:
    """The real folder behind `state/` for this turn, made and seeded on first use.

    It is inside the package's own `state/`; for a bundled package, which may be read-only, under `home/state/ID`.
    A new one begins with copies of the files directly in the package's `state/` and of its `stateFiles`. Raises
    AgentInvalid where a link would lead it elsewhere.
    """
    seeds = package.directory / "state"
    trusted, base = (
        (home / "state", home / "state" / package.id) if package.source == "bundled" else (package.directory, seeds)
    )
    folder = base / folder_of(package, conversation, sender_id)
    if os.path.realpath(folder) != f"{os.path.realpath(trusted)}/{folder.relative_to(trusted)}":
        raise AgentInvalid(
            "a link leads out of it, and the agent writes there.",
            file="state",
            fix="Make it a folder of its own; mount there what should hold it.",
        )
    if not folder.is_dir():
        _make(folder, seeds, package.manifest.state_files)
    return folder


def folder_of(package: AgentPackage, conversation: Conversation, sender_id: str) -> str:
    """Whose state it is, as a folder below the agent's `state/`; an empty string where all share one."""
    match package.manifest.state_scope:
        case "agent":
            return ""
        case "sender":
            return f"senders/{slug(conversation.connection_id, sender_id)}"
        case _:
            key = (conversation.connection_id, conversation.chat_id, conversation.thread_id)
            return f"conversations/{slug(*key)}"


def scratch_state(package: AgentPackage, folder: Path) -> None:
    """Make a folder what a new conversation's state begins with; nothing of the package changes."""
    _make(folder, package.directory / "state", package.manifest.state_files)


def slug(*key: str | None) -> str:
    """A folder name for any key, on any file system: readable as far as it goes, and told apart by a digest."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(part or "" for part in key)).strip("-")[:40].strip("-") or "x"
    return f"{plain}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"


def _make(folder: Path, seeds: Path, declared: tuple[str, ...]) -> None:
    """Make a folder with its seeds, all at once: nobody ever sees half of them."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".seeding-"))
    try:
        for path in _seeds(seeds, declared):
            target = fresh / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(seeds / path, target)
        fresh.rename(folder)
    except OSError:
        shutil.rmtree(fresh)
        # Unless another turn was faster: it may already have written there.
        if not folder.is_dir():
            raise


def _seeds(seeds: Path, declared: tuple[str, ...]) -> Iterator[Path]:
    """The files that a new state begins with, from `state/` on. Links are left out."""
    directly = [path.name for path in seeds.iterdir()] if seeds.is_dir() else []
    for name in dict.fromkeys([*directly, *declared]):
        path = Path(name)
        real = (seeds / path).resolve()
        if path.parts[0] not in OWN and real.is_file() and real == seeds.resolve() / path:
            yield path
