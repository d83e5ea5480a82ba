"""A desk for tests: a home of its own, and routes on a real ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agents_runtime.registry import Registry
from builder_skill.desk import Desk
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import call as call_tool
from gateway.desk import lay_desk
from gateway.ledger.sqlite import open_sqlite
from gateway.places import agent_roots
from gateway.settings import Settings

MINER: dict[str, Any] = {
    "id": "meeting-miner",
    "label": "Meeting Miner",
    "description": "Turns messy meeting notes into concise briefs and tracks open action items.",
    "status": "production",
    "allowedTools": ["execute_skill", "read", "write_file"],
    "subSkills": [
        {"id": "meeting-miner-parser", "description": "Parse messy notes."},
        {"id": "meeting-miner-writer", "description": "Write short replies."},
    ],
    "stateFiles": ["meeting-log.json", "action-items.json"],
}


def everything(folder: Path) -> dict[str, bytes | str]:
    """All that is below a folder, the ledger aside."""

    def walk() -> Iterator[tuple[str, bytes | str]]:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink():
                yield str(path), str(path.readlink())
            elif path.is_file() and not path.name.startswith("ledger.db"):
                yield str(path), path.read_bytes()

    return dict(walk())


@asynccontextmanager
async def a_desk(home: Path) -> AsyncIterator[Desk]:
    """A desk on a fresh home."""
    home.mkdir(parents=True, exist_ok=True)
    settings = Settings(home)
    async with open_sqlite(settings.ledger_path, worker=False) as ledger:
        yield lay_desk(settings, ledger, Registry(agent_roots(settings)), "tests")


async def use(desk: Desk, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool by name on JSON arguments."""
    return await call_tool(CATALOGUE[name], desk, arguments)
