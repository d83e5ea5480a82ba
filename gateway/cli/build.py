"""`postroom build` and `postroom approval`: the builder agent in the terminal, and what waits for the owner."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import JsonValue
from rich.markdown import Markdown
from rich.syntax import Syntax

from channels.adapter import Call
from channels.errors import PostroomError
from channels.message import Conversation
from gateway import logs
from gateway.cli.output import err, listing, out, print_json
from gateway.cli.support import Json, beside, with_ledger
from gateway.ledger.approval import Approval
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from gateway.times import iso

if TYPE_CHECKING:
    from builder_skill.desk import Desk
    from builder_skill.tools.tool import AnyBuilderTool
    from gateway.approvals import Approvals

approvals = typer.Typer(help="Changes that models asked for.", no_args_is_help=True)

ApprovalId = Annotated[str, typer.Argument(metavar="ID", help="All of it, or its last six letters.")]


class NoModel(PostroomError):
    """The builder has no model to think with."""

    code = "no_model"


def build(
    text: Annotated[str | None, typer.Argument(help="What to build; a conversation without it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
) -> None:
    """Tell the builder agent what you want; each change is shown and waits for your yes."""
    logs.configure(quiet=True)
    asyncio.run(_build(text, yes=yes))


async def _build(text: str | None, *, yes: bool) -> None:
    from agents_runtime.registry import Registry
    from builder_skill.system_skill import AGENT_ID, install
    from gateway.builder import builder_tools
    from gateway.desk import lay_desk
    from gateway.local import open_terminal, said
    from gateway.places import agent_roots

    settings = Settings.from_env()
    if not settings.models or settings.models == ("extractive",):
        raise NoModel(
            "The builder needs a model to think with.",
            fix="Set POSTROOM_MODEL to anthropic:NAME or openai-chat:NAME, and the provider's key.",
        )
    install(settings.home)
    registry = Registry(agent_roots(settings))

    def hear(call: Call) -> None:
        if words := said(call):
            out.print(Markdown(words) if sys.stdout.isatty() else words, markup=False)

    async with beside(settings) as ledger:
        gate = Asking(lay_desk(settings, ledger, registry, AGENT_ID), yes=yes, lifted=settings.auto_approve)
        async with open_terminal(settings, registry, AGENT_ID, hear, builder_tools(gate)) as terminal:
            if text is not None:
                await terminal.say(text)
                return
            err.print("Say what you want built. Ctrl-D leaves.")
            while line := await asyncio.to_thread(sys.stdin.readline):
                if line.strip():
                    await terminal.say(line.strip())


class Asking:
    """A gate that asks the person at the terminal, and writes exactly what they were shown."""

    def __init__(self, desk: Desk, *, yes: bool, lifted: frozenset[str]) -> None:
        self._desk = desk
        self._yes = yes
        self._lifted = lifted

    async def call(
        self, tool: AnyBuilderTool, arguments: Mapping[str, JsonValue], conversation: Conversation | None = None
    ) -> dict[str, JsonValue]:
        """See Gate."""
        from builder_skill.gate import ApprovalRefused, ApprovalStale
        from builder_skill.tools.tool import call
        from gateway.approvals import ALL, preview

        err.print(f"[dim]· {tool.name}[/]")
        if tool.effect != "read" and not self._yes and not self._lifted & {ALL, tool.name}:
            shown = await preview(tool, self._desk, arguments)
            out.print(Syntax(shown, "diff") if sys.stdout.isatty() else shown, markup=False)
            if not await asyncio.to_thread(_confirm, tool.name):
                raise ApprovalRefused(f"The owner said no to {tool.name}.", fix="Ask what they want instead.")
            if await preview(tool, self._desk, arguments) != shown:
                raise ApprovalStale("Something changed since this was shown.", fix="Call it again.")
        return await call(tool, self._desk, arguments)


def _confirm(tool: str) -> bool:
    err.print(f"[bold]{tool}[/]: do this? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


@approvals.command("list")
def list_(json: Json = False) -> None:
    """List what models asked for, newest first."""

    async def work(_settings: Settings, ledger: Ledger) -> list[Approval]:
        return await ledger.approvals()

    rows = [_row(each) for each in with_ledger(work)]
    columns = {"code": "ID", "state": "STATE", "tool": "TOOL", "by": "ASKED BY", "at": "AT", "decidedBy": "DECIDED BY"}
    listing(rows, as_json=json, columns=columns, empty="Nobody asked for anything.")


@approvals.command()
def show(approval_id: ApprovalId, json: Json = False) -> None:
    """Show what one would change, and what became of it."""

    async def work(settings: Settings, ledger: Ledger) -> Approval:
        return await _approvals(settings, ledger).find(approval_id)

    found = with_ledger(work)
    if json:
        print_json({**_row(found), "arguments": found.arguments, "preview": found.preview, "result": found.result})
        return
    out.print(f"[bold]{found.tool}[/] {found.state}, asked by {found.by}")
    out.print(Syntax(found.preview, "diff") if sys.stdout.isatty() else found.preview, markup=False)


@approvals.command()
def yes(approval_id: ApprovalId, json: Json = False) -> None:
    """Do it, exactly as it was shown."""
    _decide(approval_id, yes=True, json=json)


@approvals.command()
def no(approval_id: ApprovalId, json: Json = False) -> None:
    """Don't do it."""
    _decide(approval_id, yes=False, json=json)


def _decide(approval_id: str, *, yes: bool, json: bool) -> None:
    async def work(settings: Settings, ledger: Ledger) -> Approval:
        return await _approvals(settings, ledger).decide(approval_id, yes=yes, by="owner")

    done = with_ledger(work)
    if json:
        print_json({**_row(done), "result": done.result})
    else:
        out.print(f"{done.tool}: {done.state}")
        if done.result is not None:
            print_json(done.result)
    if done.state == "failed":
        raise typer.Exit(1)


def _approvals(settings: Settings, ledger: Ledger) -> Approvals:
    from agents_runtime.registry import Registry
    from gateway.approvals import Approvals
    from gateway.desk import lay_desk
    from gateway.places import agent_roots

    return Approvals(ledger, lay_desk(settings, ledger, Registry(agent_roots(settings)), "owner"), "owner")


def _row(approval: Approval) -> dict[str, JsonValue]:
    return {
        "id": approval.id,
        "code": approval.id[-6:],
        "state": approval.state,
        "tool": approval.tool,
        "by": approval.by,
        "at": iso(approval.created_at),
        "decidedBy": approval.decided_by or None,
    }
