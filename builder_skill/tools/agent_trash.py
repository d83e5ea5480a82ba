"""`agent_delete` and `agent_restore`: to the trash and back."""

from __future__ import annotations

import asyncio

from pydantic import Field

from builder_skill.desk import Desk
from builder_skill.tools.tool import BuilderTool, Shape
from builder_skill.tools.words import AgentId
from builder_skill.workspace.files import files_of
from builder_skill.workspace.shelf import from_trash, owned, restorable, revision_of, to_trash
from channels.errors import PostroomError


class AgentInUse(PostroomError):
    """Live routes point at the agent."""

    code = "agent_in_use"


class DeleteInput(Shape):
    """Which agent goes to the trash."""

    id: str
    even_if_live: bool = Field(default=False, description="although live routes point at it, which then fail")


class Deleted(Shape):
    """Where it went."""

    id: str
    trashed: str


class Restored(Shape):
    """The package that is back."""

    id: str
    revision: str


async def _deletable(desk: Desk, given: DeleteInput) -> list[str]:
    """The ids of live routes that would fail. Raises AgentInUse unless the caller said that they may."""
    live = [r.id for r in await desk.deploys.routes() if r.enabled and r.agent_id == given.id]
    if live and not given.even_if_live:
        raise AgentInUse(
            f"'{given.id}' answers on {', '.join(live[:5])}.",
            fix=f"Disable the route first: channel_route_disable {live[0]}",
        )
    return live


async def _delete(desk: Desk, given: DeleteInput) -> Deleted:
    await asyncio.to_thread(owned, desk, given.id)
    await _deletable(desk, given)
    return Deleted(id=given.id, trashed=await asyncio.to_thread(to_trash, desk, given.id))


async def _preview_delete(desk: Desk, given: DeleteInput) -> str:
    directory = await asyncio.to_thread(owned, desk, given.id)
    live = await _deletable(desk, given)
    count = await asyncio.to_thread(lambda: sum(1 for _ in files_of(directory)))
    told = f" Live routes that then fail: {', '.join(live)}." if live else ""
    return f"Move agent '{given.id}' to the trash ({count} files).{told}"


async def _restore(desk: Desk, given: AgentId) -> Restored:
    def work() -> Restored:
        from_trash(desk, given.id)
        return Restored(id=given.id, revision=revision_of(desk.agents_dir / given.id))

    return await asyncio.to_thread(work)


async def _preview_restore(desk: Desk, given: AgentId) -> str:
    name = await asyncio.to_thread(restorable, desk, given.id)
    return f"Bring agent '{given.id}' back from the trash, as deleted at {name.split('.')[1]} UTC."


AGENT_DELETE = BuilderTool(
    name="agent_delete",
    description="Move an agent to the trash.",
    effect="destructive",
    input=DeleteInput,
    output=Deleted,
    run=_delete,
    preview=_preview_delete,
)
AGENT_RESTORE = BuilderTool(
    name="agent_restore",
    description="Bring an agent back from the trash.",
    effect="write",
    input=AgentId,
    output=Restored,
    run=_restore,
    preview=_preview_restore,
)
