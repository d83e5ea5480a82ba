"""Erasing one person's data from a home: the ledger's part, received files, and the agents' state about them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agents_runtime.state import slug
from channels.message import Conversation
from gateway.attachments import Attachments
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Erased
from gateway.settings import Settings


@dataclass(frozen=True, slots=True)
class Report:
    """What was erased: messages, private conversations, files, folders of state."""

    messages: int
    conversations: int
    files: int
    states: int


async def erase_person(settings: Settings, ledger: Ledger, connection_id: str, person: str) -> Report:
    """Erase a person on one connection, for good: nothing of them stays in the ledger's file either."""
    erased = await ledger.erase(connection_id, person)
    files = _files(settings, erased)
    names = _state_names(connection_id, person, erased.conversations)
    states = _states(settings, names) + await ledger.drop_states(names)
    _overwrite(settings.ledger_path)
    return Report(len(erased.messages), len(erased.conversations), files, states)


def _files(settings: Settings, erased: Erased) -> int:
    """Take away what was received: inboxes of private conversations, and in groups what came with their messages."""
    store, gone = Attachments(settings.home), set[int]()
    for conversation in erased.conversations:
        inbox = store.inbox(conversation)
        gone |= {path.stat().st_ino for path in inbox.glob("*") if path.is_file()}
        shutil.rmtree(inbox, ignore_errors=True)
    for message_id in erased.messages:
        for path in (settings.home / "inbox").glob(f"*/{message_id}-*"):
            gone.add(path.stat().st_ino)
            path.unlink()
    kept = [path for path in (settings.home / "attachments").glob("*/*") if path.stat().st_ino in gone]
    for path in kept:
        if path.stat().st_nlink == 1:  # nobody else was sent the same file
            path.unlink()
    return len(gone)


def _state_names(connection_id: str, person: str, private: tuple[Conversation, ...]) -> list[str]:
    """The folders of state that are about them, as below any agent's `state/`."""
    conversations = (f"conversations/{slug(c.connection_id, c.chat_id, c.thread_id)}" for c in private)
    return [f"senders/{slug(connection_id, person)}", *conversations]


def _states(settings: Settings, names: list[str]) -> int:
    found = [folder for state in _state_folders(settings) for name in names if (folder := state / name).is_dir()]
    for folder in found:
        shutil.rmtree(folder)
    return len(found)


def _state_folders(settings: Settings) -> Iterator[Path]:
    yield from settings.agents_dir.glob("*/state")
    yield from (settings.home / "state").glob("*")


def _overwrite(ledger: Path) -> None:
    """Leave nothing of what was erased in free pages or in the log beside the file."""
    with closing(sqlite3.connect(ledger, timeout=60, isolation_level=None)) as db:
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
