"""Approvals: what models want to write, as a difference, with a yes and a no."""

from __future__ import annotations

from aiohttp import web

from gateway.approvals import Approvals as Gate
from gateway.console.stage import PERSON, Stage
from gateway.desk import lay_desk


class Approvals:
    """The page and its form."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def show(self, request: web.Request) -> web.Response:
        """What waits first, then what was decided."""
        found = await self._stage.ledger.approvals(50)
        ordered = sorted(found, key=lambda a: a.state != "waiting")
        return self._stage.page(request, "approvals.html", title="Approvals", approvals=ordered)

    async def decide(self, request: web.Request) -> web.Response:
        """Yes or no."""
        form, person = await request.post(), request[PERSON]
        desk = lay_desk(self._stage.settings, self._stage.ledger, self._stage.registry, f"console:{person.name}")
        gate = Gate(self._stage.ledger, desk, "console")
        yes = form.get("word") == "yes"
        done = await gate.decide(str(form.get("id", "")), yes=yes, by=f"console:{person.name}")
        await self._stage.note(person, f"{'yes' if yes else 'no'} to {done.tool}", done.id, after=done.state)
        await self._stage.reload()
        return self._stage.back(request, "approvals", f"{done.tool}: {done.state}.")
