"""What every command needs: settings, the ledger beside a running gateway, the agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from pydantic import JsonValue

from channels.errors import PostroomError
from gateway.ledger.errors import NotFound
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from routes.connection import Connection

if TYPE_CHECKING:
    from builder_skill.desk import Desk

T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Project = Annotated[
    str | None,
    typer.Option("--project", metavar="DIR", help="Also load DIR/.postroom/agents: other people's instructions."),
]


class NotThere(PostroomError):
    """There is no ledger yet."""

    code = "not_initialised"


@asynccontextmanager
async def beside(settings: Settings) -> AsyncIterator[Ledger]:
    """The ledger, opened beside a gateway that may be running: to read, and to change configuration."""
    from gateway.ledger.opening import open_ledger

    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with open_ledger(settings, worker=False) as ledger:
        yield ledger


def with_ledger(work: Callable[[Settings, Ledger], Awaitable[T]]) -> T:
    """Run one piece of work on the ledger and return its result."""

    async def run() -> T:
        settings = Settings.from_env()
        async with beside(settings) as ledger:
            return await work(settings, ledger)

    return asyncio.run(run())


def use(name: str, arguments: Mapping[str, JsonValue], project: str | None = None) -> dict[str, JsonValue]:
    """Call one of the builder's tools as the owner, on this home."""
    from builder_skill.tools import CATALOGUE
    from builder_skill.tools.tool import call, find

    return with_desk(lambda desk: call(find(CATALOGUE, name), desk, arguments), project)


def with_desk(work: Callable[[Desk], Awaitable[T]], project: str | None = None) -> T:
    """Run one piece of work at the owner's desk and return its result."""
    from agents_runtime.registry import Registry
    from gateway.desk import lay_desk
    from gateway.places import agent_roots

    async def run(settings: Settings, ledger: Ledger) -> T:
        return await work(lay_desk(settings, ledger, Registry(agent_roots(settings, project)), "owner"))

    return with_ledger(run)


async def find_connection(ledger: Ledger, connection_id: str) -> Connection:
    """The connection of that id. Raises NotFound with those there are."""
    rows = await ledger.connections()
    for row in rows:
        if row.id == connection_id:
            return row
    known = ", ".join(r.id for r in rows) or "none yet"
    raise NotFound(f"There is no connection '{connection_id}'.", fix=f"Known connections: {known}.")
