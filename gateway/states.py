"""Where a turn's agent finds its state: on this gateway's disk, or shared by all gateways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agents_runtime.package import AgentPackage
from agents_runtime.state import state_dir
from agents_runtime.tools.tool import StateGuard, Unguarded
from gateway.ledger.records import Turn


@dataclass(frozen=True, slots=True)
class State:
    """The folder behind an agent's `state/` for one turn, and what goes around each call that touches it."""

    folder: Path
    guard: StateGuard = Unguarded()


class States(Protocol):
    """Opens the state of an agent for a turn."""

    def open(self, turn: Turn, package: AgentPackage, sender_id: str) -> AbstractAsyncContextManager[State]:
        """The state as it is now. Raises AgentInvalid."""
        ...


class LocalStates:
    """State in the home, where one gateway works, or several on one machine: files and their locks are enough."""

    def __init__(self, home: Path) -> None:
        self._home = home

    @asynccontextmanager
    async def open(self, turn: Turn, package: AgentPackage, sender_id: str) -> AsyncIterator[State]:
        """See States."""
        yield State(await asyncio.to_thread(state_dir, package, turn.conversation, sender_id, self._home))
