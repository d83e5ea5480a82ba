"""`postroom agent create`, `read`, `write` …: packages made and changed by the builder's tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import JsonValue
from rich.markup import escape

from gateway.cli.agent import app
from gateway.cli.output import err, listing, out, print_json
from gateway.cli.support import Json, Project, use, with_desk

if TYPE_CHECKING:
    from builder_skill.desk import Desk

Dialect = Literal["claude-code", "pi", "agent-md"]
AgentId = Annotated[str, typer.Argument(metavar="ID")]
Texts = list[str] | None


@app.command()
def create(
    agent_id: Annotated[str, typer.Argument(metavar="ID", help="Lowercase words joined by hyphens.")],
    description: Annotated[str, typer.Option(help="What it does, in one sentence; asked for without it.")] = "",
    label: Annotated[str, typer.Option(help="A name for people.")] = "",
    production: Annotated[bool, typer.Option("--production", help="Ready to be deployed; a draft without it.")] = False,
    tool: Annotated[Texts, typer.Option(metavar="NAME", help="A tool it may use; again for more.")] = None,
    sub_skill: Annotated[Texts, typer.Option(metavar="NAME=TEXT", help="A step, and what it is for.")] = None,
    state_file: Annotated[Texts, typer.Option(metavar="PATH", help="A file under state/.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Move the one with this id to the trash.")] = False,
    json: Json = False,
) -> None:
    """Make a new package: everything a draft needs to answer."""
    if not description and sys.stdin.isatty():
        description = str(typer.prompt("What does it do, in one sentence?"))
    steps = [part.partition("=") for part in sub_skill or []]
    arguments: dict[str, JsonValue] = {
        "id": agent_id,
        "label": label,
        "description": description,
        "status": "production" if production else "draft",
        "allowedTools": [*(tool or [])],
        "subSkills": [{"id": name, "description": text} for name, _, text in steps],
        "stateFiles": [*(state_file or [])],
        "overwrite": overwrite,
    }
    made = use("agent_create", arguments)
    if json:
        print_json(made)
        return
    files = made["files"]
    for path in files if isinstance(files, list) else []:
        out.print(f"[green]+[/] {path}")
    err.print(f"Made '{agent_id}'. Write its instructions, then: postroom agent validate {agent_id}")


@app.command()
def validate(agent_id: AgentId, json: Json = False) -> None:
    """Check a package of yours. Exits 1 on an error."""
    found = use("agent_validate", {"id": agent_id})
    if json:
        print_json(found)
    checks = found["checks"]
    for check in checks if isinstance(checks, list) and not json else []:
        if isinstance(check, dict):
            sign = {"error": "[red]✗[/]", "warning": "[yellow]![/]"}.get(str(check["severity"]), "[green]✓[/]")
            place = (
                f"{check['file']}:{check['line']}: " if check["line"] else f"{check['file']}: " if check["file"] else ""
            )
            fix = f" → {check['fix']}" if check["fix"] else ""
            out.print(f"{sign} [dim]({check['code']})[/] {escape(place + str(check['message']) + fix)}")
    if not found["valid"]:
        raise typer.Exit(1)


@app.command()
def read(agent_id: AgentId) -> None:
    """Print one package of yours as JSON: manifest, files, revision."""
    print_json(use("agent_read", {"id": agent_id}))


@app.command()
def write(
    agent_id: AgentId,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Such as skills/NAME/SKILL.md.")],
    source: Annotated[Path | None, typer.Option("--from", metavar="FILE", help="Standard input without it.")] = None,
    json: Json = False,
) -> None:
    """Write one file of a package, from a file or from standard input."""
    content = sys.stdin.read() if source is None else source.read_text(encoding="utf-8")
    done = use("agent_write_file", {"id": agent_id, "path": path, "content": content})
    if json:
        print_json(done)
    else:
        err.print(f"Wrote {path}.")


@app.command()
def status(agent_id: AgentId, value: Annotated[str, typer.Argument(metavar="draft|production|disabled")]) -> None:
    """Set an agent's status."""
    revision = use("agent_read", {"id": agent_id})["revision"]
    use("agent_update_manifest", {"id": agent_id, "revision": revision, "status": value})
    err.print(f"'{agent_id}' is {value}.")


@app.command()
def delete(
    agent_id: AgentId,
    even_if_live: Annotated[bool, typer.Option("--even-if-live", help="Although routes point at it.")] = False,
) -> None:
    """Move an agent to the trash."""
    use("agent_delete", {"id": agent_id, "evenIfLive": even_if_live})
    err.print(f"'{agent_id}' is in the trash. Back with: postroom agent restore {agent_id}")


@app.command()
def restore(agent_id: AgentId) -> None:
    """Bring an agent back from the trash."""
    use("agent_restore", {"id": agent_id})
    err.print(f"'{agent_id}' is back.")


@app.command()
def diff(agent_id: AgentId, json: Json = False) -> None:
    """Show what changed since the agent was last deployed."""
    found = use("agent_diff", {"id": agent_id})
    if json:
        print_json(found)
    elif found["deployedRevision"] is None:
        err.print("It was never deployed.")
    else:
        out.print(str(found["diff"]) or "Nothing changed.", markup=False)


@app.command()
def rehearse(
    agent_id: AgentId,
    channel: Annotated[str, typer.Option(help="Whose renderer and manner.")] = "telegram",
    project: Project = None,
    json: Json = False,
) -> None:
    """Run an agent's benchmark cases; nothing is sent. Exits 1 unless all pass."""
    found = use("agent_rehearse", {"id": agent_id, "channel": channel}, project)
    cases = found["cases"]
    rows = (
        [{**c, "seconds": round(float(str(c["seconds"])), 2)} for c in cases if isinstance(c, dict)]
        if isinstance(cases, list)
        else []
    )
    columns = {
        "skill": "SKILL",
        "name": "CASE",
        "passed": "PASSED",
        "steps": "STEPS",
        "tokens": "TOKENS",
        "seconds": "SECONDS",
        "reasons": "WHY",
    }
    if json:
        print_json(found)
    else:
        listing(rows, as_json=False, columns=columns, empty="No cases: write some into skills/NAME/benchmarks.json.")
    if not found["passed"]:
        raise typer.Exit(1)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Markdown file with frontmatter.")],
    agent_id: Annotated[str, typer.Option("--id", metavar="ID", help="Another id than the file's.")] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Move the one with this id to the trash.")] = False,
) -> None:
    """Make a package of a file that another platform has: Claude Code, pi, agent.md."""
    from builder_skill.tools.agents import adopt

    done = with_desk(lambda desk: adopt(desk, file, agent_id, overwrite=overwrite))
    err.print(f"Made '{done}'. Check it: postroom agent validate {done}")


@app.command()
def export(
    agent_id: AgentId,
    dialect: Annotated[Dialect, typer.Option("--as", help="For which platform.")] = "agent-md",
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the files there; print the agent without.")
    ] = None,
    project: Project = None,
) -> None:
    """Write an agent as other platforms have it."""
    from builder_skill.interchange import write_foreign

    async def work(desk: Desk) -> dict[str, str]:
        return write_foreign(desk.registry.get(agent_id), dialect)

    files = with_desk(work, project)
    if to is None:
        text, *others = files.values()
        sys.stdout.write(text)
        if others:
            err.print(f"Its {len(others)} skill(s) are files of their own: give --to DIR to write all.")
        return
    for path, text in files.items():
        file = to / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        out.print(f"[green]+[/] {file}")


bench = typer.Typer(help="Measure agents.", no_args_is_help=True)
bench.command("agent")(rehearse)


@bench.callback()
def _bench() -> None:
    """Measure agents."""
