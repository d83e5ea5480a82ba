"""`postroom agent`: what agents there are."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import JsonValue

from gateway.cli.output import listing, out, print_json
from gateway.cli.support import Json, Project
from gateway.settings import Settings

app = typer.Typer(help="Agent packages: folders of Markdown.", no_args_is_help=True)


@app.command("list")
def list_(project: Project = None, json: Json = False) -> None:
    """List agents, where each came from, and why one can't run."""
    from agents_runtime.registry import Registry
    from gateway.places import agent_roots

    rows: list[dict[str, JsonValue]] = [
        {
            "id": e.id,
            "label": e.label,
            "description": e.description,
            "entrySkill": e.entry_skill,
            "status": e.status,
            "source": e.source,
            "hides": list(e.hides),
            "problem": e.problem or None,
        }
        for e in Registry(agent_roots(Settings.from_env(), project)).entries()
    ]
    columns = {
        "id": "ID",
        "label": "LABEL",
        "status": "STATUS",
        "source": "FROM",
        "hides": "HIDES",
        "problem": "PROBLEM",
    }
    listing(rows, as_json=json, columns=columns, empty="No agents. Put a package folder into the home's agents/.")


@app.command()
def show(agent_id: Annotated[str, typer.Argument(metavar="ID")], project: Project = None, json: Json = False) -> None:
    """Show one agent: manifest, skills, tools, and what its prompt costs."""
    from datetime import UTC, datetime

    from agents_runtime.prompt import build_prompt
    from agents_runtime.registry import Registry
    from agents_runtime.tools.grants import open_to, resolve_grants
    from gateway.builder import KNOWN
    from gateway.places import agent_roots

    package = Registry(agent_roots(Settings.from_env(), project)).get(agent_id)
    reachable = open_to(package.id, package.source, KNOWN)
    grants = resolve_grants(package.manifest.allowed_tools, reachable)
    prompt = build_prompt(package, manner="", now=datetime.now(UTC).astimezone())
    row: dict[str, JsonValue] = {
        "manifest": package.manifest.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        "source": package.source,
        "hides": list(package.hides),
        "revision": package.revision,
        "skills": {name: skill.description for name, skill in package.skills.items()},
        "tools": [*sorted(grants.tools)],
        "missingTools": list(grants.missing),
        "promptTokens": {part.name: part.tokens for part in prompt.parts},
    }
    if json:
        print_json(row)
        return
    out.print(f"[bold]{package.manifest.label}[/] ({package.id}, {package.manifest.status}, from {package.source})")
    out.print(package.manifest.description, markup=False)
    for name, skill in package.skills.items():
        out.print(f"  skill {name}: {skill.description}", markup=False)
    out.print(f"  tools: {', '.join(sorted(grants.tools)) or 'none'}")
    if grants.missing:
        out.print(f"  [red]held back[/]: nobody provides {', '.join(grants.missing)}")
    out.print(f"  prompt: about {sum(part.tokens for part in prompt.parts)} tokens")
