"""`postroom doctor`: what is wrong here, and what to do about it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from channels.adapter import Finding
from channels.errors import PostroomError
from gateway.cli.output import err, out, print_json
from gateway.cli.support import Json, Project, beside
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.doctor import Area

ROUNDS = 2
"""A home that had to be made first shows only then what it lacks."""

Fix = Annotated[bool, typer.Option("--fix", help="Put right what is safe to, and look again.")]


def doctor(project: Project = None, fix: Fix = False, json: Json = False) -> None:
    """Look at everything from the disk to the routes. Exits 1 when something is wrong."""
    settings = Settings.from_env()
    areas = asyncio.run(_examine(settings, project))
    if fix:
        from gateway.doctor.mending import mend

        for _ in range(ROUNDS):
            done = mend(settings, areas)
            if not done:
                break
            for line in done:
                err.print(f"[green]mended[/] {escape(line)}")
            areas = asyncio.run(_examine(settings, project))
    if json:
        print_json([{"area": area.name, **asdict(finding)} for area in areas for finding in area.findings])
    else:
        _show(areas)
    if not all(area.ok for area in areas):
        raise typer.Exit(1)


async def _examine(settings: Settings, project: str | None) -> list[Area]:
    from agents_runtime.registry import Registry
    from gateway.doctor import Area, examine
    from gateway.places import agent_roots

    registry = Registry(agent_roots(settings, project))
    async with AsyncExitStack() as stack:
        try:
            there = settings.home.is_dir()
            ledger = await stack.enter_async_context(beside(settings)) if there else None
        except PostroomError as error:
            closed = Area("ledger", (Finding(error.code, False, error.message, error.fix),))
            return [*await examine(settings, None, registry), closed]
        return await examine(settings, ledger, registry)


def _show(areas: list[Area]) -> None:
    for area in (a for a in areas if a.findings):
        out.print(f"[bold]{area.name}[/]")
        for finding in area.findings:
            mark = "[red]✗[/]" if not finding.ok else "[yellow]•[/]" if finding.fix else "[green]✓[/]"
            out.print(f"  {mark} {escape(finding.message)}" + (f" → {escape(finding.fix)}" if finding.fix else ""))
    findings = [finding for area in areas for finding in area.findings]
    wrong = sum(not finding.ok for finding in findings)
    notes = sum(finding.ok and bool(finding.fix) for finding in findings)
    err.print(f"{len(findings)} looked at, {wrong} wrong, {notes} to know of.")
