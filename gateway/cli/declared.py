"""`postroom plan`, `apply` and `export`: connections and routes as code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import JsonValue
from rich.markup import escape

from channels.errors import PostroomError
from gateway.cli.output import err, out, print_json
from gateway.cli.support import Json, with_ledger
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.declared.plan import FactsOf, Plan

File = Annotated[Path, typer.Argument(metavar="FILE", help="What should be.")]

SIGNS = {"add": "[green]+[/]", "change": "[yellow]~[/]", "disable": "[red]-[/]"}


class NotConfirmed(PostroomError):
    """Nobody said yes."""

    code = "not_confirmed"


def plan(file: File = Path("postroom.yaml"), json: Json = False) -> None:
    """Show what applying a file would change, and what stands in the way. Exits 1 on a blocker, and changes nothing."""
    from gateway.declared.apply import make_plan, read_wanted
    from gateway.declared.file import read_declared
    from gateway.vault import load_vault

    declared = read_declared(file)

    async def work(settings: Settings, ledger: Ledger) -> Plan:
        wanted = await read_wanted(declared, file, ledger, load_vault(settings.key_path))
        return await make_plan(declared, wanted, ledger, _facts(settings, ledger, file, declared.agents))

    found = with_ledger(work)
    _show(found, json=json)
    if found.blockers:
        raise typer.Exit(1)


def apply(
    file: File = Path("postroom.yaml"),
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    fingerprint: Annotated[str | None, typer.Option(metavar="TEXT", help="Only if this plan still holds.")] = None,
    json: Json = False,
) -> None:
    """Make it so, in one transaction, if nothing stands in the way."""
    from gateway.declared.apply import apply as write
    from gateway.declared.apply import make_plan, read_wanted
    from gateway.declared.file import read_declared
    from gateway.declared.plan import ApplyRefused
    from gateway.places import remember_places
    from gateway.vault import load_vault

    declared = read_declared(file)

    async def work(settings: Settings, ledger: Ledger) -> Plan:
        vault = load_vault(settings.key_path)
        wanted = await read_wanted(declared, file, ledger, vault)
        facts_of = _facts(settings, ledger, file, declared.agents)
        found = await make_plan(declared, wanted, ledger, facts_of)
        _show(found, json=json)
        if found.blockers:
            raise ApplyRefused(found)
        if not (yes or fingerprint) and found.steps:
            _ask()
        done = await write(declared, wanted, ledger, vault, facts_of, fingerprint=fingerprint or found.fingerprint)
        remember_places(settings, _folders(file, declared.agents))
        return done

    done = with_ledger(work)
    if not json:
        err.print("Applied." if done.steps else "Nothing to change.")


def export() -> None:
    """Write what is live as a postroom.yaml, secrets by reference."""
    from gateway.declared.apply import export as read
    from gateway.declared.file import write_declared
    from gateway.places import declared_places

    async def work(settings: Settings, ledger: Ledger) -> str:
        declared = await read(ledger)
        places = tuple(str(place) for place in declared_places(settings))
        return write_declared(declared.model_copy(update={"agents": places}))

    sys.stdout.write(with_ledger(work))


def _facts(settings: Settings, ledger: Ledger, file: Path, agents: tuple[str, ...]) -> FactsOf:
    from agents_runtime.registry import Registry
    from gateway.deploying import Deployer
    from gateway.places import agent_roots

    registry = Registry(agent_roots(settings, declared=_folders(file, agents)))
    return Deployer(ledger, registry, settings).facts


def _folders(file: Path, agents: tuple[str, ...]) -> list[Path]:
    return [(file.absolute().parent / Path(folder).expanduser()).resolve() for folder in agents]


def _ask() -> None:
    if not sys.stdin.isatty():
        raise NotConfirmed("Nothing was changed: nobody is here to say yes.", fix="Give --yes, or --fingerprint.")
    if not typer.confirm("Apply this?"):
        raise NotConfirmed("Nothing was changed.", fix="Apply again when it is right.")


def _show(found: Plan, *, json: bool) -> None:
    if json:
        print_json(describe(found))
        return
    for step in found.steps:
        out.print(f"{SIGNS[step.action]} {escape(step.what)}")
        for name, before, after in step.fields:
            was = "" if before is None else f"{before} → "
            out.print(f"    {name}: {was}{'–' if after is None else after}", markup=False)
    for blocker in found.blockers:
        out.print(f"[red]✗[/] [dim]({blocker.code})[/] {escape(blocker.message)} → {escape(blocker.fix)}")
    for warning in found.warnings:
        out.print(f"[yellow]![/] [dim]({warning.code})[/] {escape(warning.message)}")
    if not found.steps:
        out.print("Nothing to change.")


def describe(found: Plan) -> dict[str, JsonValue]:
    """A plan as JSON."""
    return {
        "ok": not found.blockers,
        "steps": [
            {
                "action": s.action,
                "what": s.what,
                "fields": [{"name": n, "before": b, "after": a} for n, b, a in s.fields],
            }
            for s in found.steps
        ],
        "blockers": [{"code": b.code, "message": b.message, "fix": b.fix} for b in found.blockers],
        "warnings": [{"code": w.code, "message": w.message, "fix": w.fix} for w in found.warnings],
        "fingerprint": found.fingerprint,
    }
