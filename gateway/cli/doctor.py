"""`postroom doctor`: what is wrong here, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict

import typer

from channels.adapter import Finding
from gateway.cli.output import out, print_json
from gateway.cli.support import Json, Project, with_ledger
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings


def doctor(project: Project = None, json: Json = False) -> None:
    """Look at the home, key, models, agents, connections, routes and ledger. Exits 1 when something is wrong."""
    from agents_runtime.registry import Registry
    from gateway.doctor import examine
    from gateway.places import agent_roots

    async def work(settings: Settings, ledger: Ledger) -> list[Finding]:
        return await examine(settings, ledger, Registry(agent_roots(settings, project)))

    findings = with_ledger(work)
    if json:
        print_json([asdict(f) for f in findings])
    else:
        for finding in findings:
            mark = "[green]✓[/]" if finding.ok else "[red]✗[/]"
            out.print(f"{mark} {finding.message}" + (f" → {finding.fix}" if finding.fix else ""))
    if not all(f.ok for f in findings):
        raise typer.Exit(1)
