"""`postroom audit`: how safely this home is set up."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.markup import escape

from gateway.cli.output import out, print_json
from gateway.cli.support import Json, Project, with_ledger
from gateway.grading import Grade
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings

FAILING = frozenset({"D", "F"})


def audit(project: Project = None, json: Json = False) -> None:
    """Grade the configuration from A to F, with every risk and what to do. Exits 1 for D and F."""
    from agents_runtime.registry import Registry
    from gateway.grading import grade
    from gateway.places import agent_roots
    from gateway.posture import gather

    async def work(settings: Settings, ledger: Ledger) -> Grade:
        return grade(await gather(settings, ledger, Registry(agent_roots(settings, project))))

    graded = with_ledger(work)
    if json:
        print_json({"grade": graded.letter, "risks": [asdict(risk) for risk in graded.risks]})
    else:
        colours = {"critical": "red", "high": "red", "medium": "yellow", "low": "dim"}
        for risk in graded.risks:
            out.print(f"[{colours[risk.weight]}]{risk.weight}[/] {escape(risk.message)} → {escape(risk.fix)}")
        out.print(f"Grade [bold]{graded.letter}[/]: {len(graded.risks)} risk(s).")
    if graded.letter in FAILING:
        raise typer.Exit(1)
