"""`postroom agent create`, `read`, `write` …: packages made and changed by the builder's tools."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import JsonValue
from rich.markup import escape

from channels.errors import PostroomError
from gateway.cli.agent import app
from gateway.cli.output import err, listing, out, print_json
from gateway.cli.support import Json, Project, use, with_desk

if TYPE_CHECKING:
    from builder_skill.desk import Desk

Dialect = Literal["claude-code", "pi", "agent-md"]


class FileUnknown(PostroomError):
    """The package has no such file to show."""

    code = "file_unknown"


class FieldInvalid(PostroomError):
    """A field on the command line is not NAME=VALUE."""

    code = "field_invalid"


AgentId = Annotated[str, typer.Argument(metavar="ID")]
Texts = list[str] | None


@app.command()
def create(
    agent_id: Annotated[str, typer.Argument(metavar="ID", help="Lowercase words joined by hyphens.")] = "",
    description: Annotated[str, typer.Option(help="What it does, in one sentence.")] = "",
    label: Annotated[str, typer.Option(help="A name for people.")] = "",
    entry_skill: Annotated[str, typer.Option(metavar="NAME", help="The entry skill; named like the id without.")] = "",
    production: Annotated[bool, typer.Option("--production", help="Ready to be deployed; a draft without it.")] = False,
    tool: Annotated[Texts, typer.Option(metavar="NAME", help="A tool it may use; again for more.")] = None,
    sub_skill: Annotated[Texts, typer.Option(metavar="NAME=TEXT", help="A step, and what it is for.")] = None,
    state_file: Annotated[Texts, typer.Option(metavar="PATH", help="A file under state/.")] = None,
    channel_default: Annotated[Texts, typer.Option(metavar="NAME=VALUE", help="A default for its routes.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Move the one with this id to the trash.")] = False,
    json: Json = False,
) -> None:
    """Make a new package: everything a draft needs to answer. Asks for what is missing at a terminal."""
    if sys.stdin.isatty():
        agent_id = agent_id or str(typer.prompt("Its id, such as meeting-miner"))
        description = description or str(typer.prompt("What does it do, in one sentence?"))
    arguments: dict[str, JsonValue] = {
        "id": agent_id,
        "description": description,
        "entrySkill": entry_skill,
        "status": "production" if production else "draft",
        "allowedTools": [*(tool or [])],
        "subSkills": [{"id": n, "description": text} for n, _, text in (s.partition("=") for s in sub_skill or [])],
        "stateFiles": [*(state_file or [])],
        "channelDefaults": _fields(channel_default or []),
        "overwrite": overwrite,
    }
    made = use("agent_create", arguments | ({"label": label} if label else {}))
    if json:
        print_json(made)
        return
    files = made["files"]
    for path in files if isinstance(files, list) else []:
        out.print(f"[green]+[/] {path}")
    if made["trashed"]:
        err.print("The one before is in the trash.")
    err.print(f"Made '{agent_id}'. Write its instructions, then: postroom agent validate {agent_id}")


@app.command()
def update(
    agent_id: AgentId,
    fields: Annotated[list[str], typer.Argument(metavar="FIELD=VALUE...", help="As in agent.json: text or JSON.")],
    revision: Annotated[str, typer.Option(metavar="REV", help="Only if it still has this revision.")] = "",
    json: Json = False,
) -> None:
    """Change fields of agent.json, such as label=Shop maxTurns=50 allowedTools='["read"]'."""
    changes = _fields(fields)
    seen = revision or use("agent_read", {"id": agent_id})["revision"]
    done = use("agent_update_manifest", {**changes, "id": agent_id, "revision": seen})
    _told(done, f"Changed {', '.join(changes)} of '{agent_id}'.", as_json=json)


@app.command()
def status(
    agent_id: AgentId,
    value: Annotated[str, typer.Argument(metavar="draft|production|disabled")],
    json: Json = False,
) -> None:
    """Set an agent's status."""
    revision = use("agent_read", {"id": agent_id})["revision"]
    done = use("agent_update_manifest", {"id": agent_id, "revision": revision, "status": value})
    _told(done, f"'{agent_id}' is {value}.", as_json=json)


@app.command()
def validate(agent_id: AgentId, json: Json = False) -> None:
    """Check a package of yours. Exits 1 on an error."""
    found = use("agent_validate", {"id": agent_id})
    if json:
        print_json(found)
    for check in _rows(found["checks"]) if not json else []:
        sign = {"error": "[red]✗[/]", "warning": "[yellow]![/]"}.get(str(check["severity"]), "[green]✓[/]")
        place = f"{check['file']}:{check['line']}: " if check["line"] else f"{check['file']}: " if check["file"] else ""
        fix = f" → {check['fix']}" if check["fix"] else ""
        out.print(f"{sign} [dim]({check['code']})[/] {escape(place + str(check['message']) + fix)}")
    if not found["valid"]:
        raise typer.Exit(1)


@app.command()
def read(
    agent_id: AgentId,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Print this file alone.")] = "",
    json: Json = False,
) -> None:
    """Show one package of yours: its files, and its revision; or one file of it."""
    found = use("agent_read", {"id": agent_id})
    files = [file for file in _rows(found["files"]) if path in ("", file["path"])]
    if json:
        print_json(found if not path else {**found, "files": [*files]})
    elif not files:
        raise FileUnknown(f"'{agent_id}' has no file '{path}'.", fix=f"See them: postroom agent read {agent_id}")
    elif path:
        text = files[0]["text"]
        if text is None:
            raise FileUnknown(f"'{path}' is too long to show, or no text.", fix="Open it in an editor.")
        sys.stdout.write(str(text))
    else:
        listing(files, as_json=False, columns={"path": "FILE", "size": "BYTES", "editableWith": "CHANGE"}, empty="")
        err.print(f"revision {found['revision']}")
        if found["problem"]:
            err.print(f"[red]{escape(str(found['problem']))}[/]")


@app.command()
def write(
    agent_id: AgentId,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Such as skills/NAME/SKILL.md.")],
    source: Annotated[Path | None, typer.Option("--from", metavar="FILE", help="Standard input without it.")] = None,
    revision: Annotated[str, typer.Option(metavar="REV", help="Only if it still has this revision.")] = "",
    json: Json = False,
) -> None:
    """Write one file of a package, from a file or from standard input."""
    content = sys.stdin.read() if source is None else source.read_text(encoding="utf-8")
    arguments: dict[str, JsonValue] = {"id": agent_id, "path": path, "content": content, "revision": revision or None}
    _told(use("agent_write_file", arguments), f"Wrote {path}.", as_json=json)


@app.command()
def delete(
    agent_id: AgentId,
    even_if_live: Annotated[bool, typer.Option("--even-if-live", help="Although routes point at it.")] = False,
    json: Json = False,
) -> None:
    """Move an agent to the trash."""
    done = use("agent_delete", {"id": agent_id, "evenIfLive": even_if_live})
    _told(done, f"'{agent_id}' is in the trash. Back with: postroom agent restore {agent_id}", as_json=json)


@app.command()
def restore(agent_id: AgentId, json: Json = False) -> None:
    """Bring an agent back from the trash."""
    _told(use("agent_restore", {"id": agent_id}), f"'{agent_id}' is back.", as_json=json)


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


def _told(done: dict[str, JsonValue], line: str, *, as_json: bool) -> None:
    """What a change answered, to a program or to a person."""
    if as_json:
        print_json(done)
    else:
        err.print(escape(line))


def _rows(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _fields(given: list[str]) -> dict[str, JsonValue]:
    """FIELD=VALUE each, where a value that is not JSON is text. Raises FieldInvalid."""
    fields: dict[str, JsonValue] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not name or not sign:
            raise FieldInvalid(f"'{each}' is not FIELD=VALUE.", fix="Write such as label=Shop or maxTurns=50.")
        try:
            fields[name] = json_.loads(value)
        except (ValueError, RecursionError):
            fields[name] = value
    return fields


@app.command()
def rehearse(
    agent_id: AgentId,
    channel: Annotated[str, typer.Option(help="Whose renderer and manner.")] = "telegram",
    project: Project = None,
    json: Json = False,
) -> None:
    """Run an agent's benchmark cases; nothing is sent. Exits 1 unless all pass."""
    found = use("agent_rehearse", {"id": agent_id, "channel": channel}, project)
    rows = [{**c, "seconds": round(float(str(c["seconds"])), 2)} for c in _rows(found["cases"])]
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
    from builder_skill.tools.agent_create import adopt

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
