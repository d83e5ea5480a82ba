"""What the builder's tools work on: packages, trash, routes. The gateway lays it out; a test can too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agents_runtime.registry import Registry
from agents_runtime.run import Run
from agents_runtime.tools.tool import AnyTool
from routes.connection import Connection
from routes.preflight import Preflight, Proposal
from routes.route import Route


class Change(Protocol):
    """A change of routes as the history keeps it: the touched routes before and after it."""

    @property
    def number(self) -> int:
        """Its place in the history, from 1."""
        ...

    @property
    def before(self) -> tuple[Route, ...]:
        """The touched routes as they were."""
        ...

    @property
    def after(self) -> tuple[Route, ...]:
        """The touched routes as they were written."""
        ...


class Deploys(Protocol):
    """Routes and connections, read and changed in one ledger."""

    async def connections(self) -> list[Connection]:
        """All, by id; of secrets only the names."""
        ...

    async def routes(self) -> list[Route]:
        """All, by id."""
        ...

    async def check(self, proposal: Proposal) -> Preflight:
        """What stands in the way of a proposal now. Writes nothing."""
        ...

    async def deploy(
        self, proposal: Proposal, *, fingerprint: str | None = None, disable_conflicting: bool = False
    ) -> Change:
        """Put a route live. Raises DeployRefused or PreflightStale, and then nothing is written."""
        ...

    async def disable(self, route_id: str) -> Change:
        """Take a route out of service. Raises RouteUnknown."""
        ...

    async def rollback(self) -> Change:
        """Undo the last change of routes. Raises RollbackRefused."""
        ...

    async def what_rolls_back(self) -> tuple[Route, ...]:
        """The routes that a rollback would bring back, as they were. Raises RollbackRefused."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """One caller's desk. Tools write packages under `agents_dir` and nowhere else.

    `kept_dir` is for what must outlive a change: the trash, and each package as it was last deployed. `provided` are
    the tools that agents can be granted, and `running` opens the runner that answers for them.
    """

    registry: Registry
    agents_dir: Path
    kept_dir: Path
    provided: Mapping[str, AnyTool]
    deploys: Deploys
    running: Callable[[], AbstractAsyncContextManager[Run]]
