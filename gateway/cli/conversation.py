"""`postroom conversation` and `postroom dead-letter`: what was said, and what got stuck."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import JsonValue
from rich.markup import escape

from gateway.cli.output import err, listing, out, print_json
from gateway.cli.support import Json, with_ledger
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from gateway.times import iso

conversations = typer.Typer(help="What was said.", no_args_is_help=True)
dead_letters = typer.Typer(help="Turns and deliveries that ran out of tries.", no_args_is_help=True)

Limit = Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")]


@conversations.command("list")
def list_conversations(limit: Limit = 50, json: Json = False) -> None:
    """List conversations, newest first."""

    async def work(_settings: Settings, ledger: Ledger) -> list[dict[str, JsonValue]]:
        return [
            {
                "key": c.conversation.key,
                "channel": c.channel,
                "scope": c.scope,
                "title": c.title,
                "messages": c.messages,
                "waiting": c.waiting,
                "lastAt": iso(c.last_at),
            }
            for c in await ledger.conversations(limit)
        ]

    columns = {
        "key": "CONVERSATION",
        "channel": "CHANNEL",
        "scope": "KIND",
        "title": "WITH",
        "messages": "MESSAGES",
        "waiting": "WAITING",
        "lastAt": "LAST",
    }
    listing(with_ledger(work), as_json=json, columns=columns, empty="Nobody has written yet.")


@conversations.command("show")
def show_conversation(
    key: Annotated[str, typer.Argument(metavar="CONVERSATION")], limit: Limit = 50, json: Json = False
) -> None:
    """Show a conversation: messages and how each ended, runs, deliveries."""

    async def work(_settings: Settings, ledger: Ledger) -> dict[str, JsonValue]:
        messages: list[JsonValue] = [
            {
                "id": m.message.id,
                "at": iso(m.message.received_at.timestamp()),
                "kind": m.message.kind,
                "from": m.message.sender.name or m.message.sender.id,
                "text": m.message.text,
                "attachments": len(m.message.attachments),
                "state": m.state,
                "reason": m.reason,
                "turn": m.turn_id,
            }
            for m in await ledger.messages(key, limit)
        ]
        runs: list[JsonValue] = [
            {
                "turn": r.turn_id,
                "agent": r.agent_id,
                "route": r.route_id,
                "model": r.model,
                "outcome": r.outcome,
                "steps": r.steps,
                "inputTokens": r.input_tokens,
                "outputTokens": r.output_tokens,
                "startedAt": iso(r.started_at),
                "seconds": round(r.finished_at - r.started_at, 3),
                "detail": r.detail,
            }
            for r in await ledger.runs(key, limit)
        ]
        deliveries: list[JsonValue] = [
            {
                "id": d.id,
                "turn": d.turn_id,
                "at": iso(d.created_at),
                "method": d.call.method,
                "params": d.call.params,
                "status": d.status,
                "attempt": d.attempt,
                "ref": d.provider_ref,
                "error": d.error,
            }
            for d in await ledger.deliveries(key, limit)
        ]
        return {"conversation": key, "messages": messages, "runs": runs, "deliveries": deliveries}

    found = with_ledger(work)
    if json:
        print_json(found)
        return
    lines = [*_rows(found["messages"], "messages"), *_rows(found["deliveries"], "deliveries")]
    if not lines:
        out.print("Nothing is stored under that key. `postroom conversation list` shows the keys.")
    for _, line in sorted(lines, key=lambda pair: pair[0]):
        out.print(line)


@dead_letters.command("list")
def list_dead_letters(limit: Limit = 50, json: Json = False) -> None:
    """List what ran out of tries, newest first."""

    async def work(_settings: Settings, ledger: Ledger) -> list[dict[str, JsonValue]]:
        return [
            {
                "id": d.id,
                "kind": d.kind,
                "conversation": d.conversation.key,
                "error": d.error,
                "attempts": d.attempts,
                "at": iso(d.at),
                "preview": d.preview,
            }
            for d in await ledger.dead_letters(limit)
        ]

    columns = {
        "id": "ID",
        "kind": "KIND",
        "conversation": "CONVERSATION",
        "attempts": "TRIES",
        "error": "ERROR",
        "preview": "TEXT",
    }
    listing(with_ledger(work), as_json=json, columns=columns, empty="No dead letters.")


@dead_letters.command()
def retry(letter_id: Annotated[str, typer.Argument(metavar="ID", help="An id, or `all`.")]) -> None:
    """Put a dead turn or delivery back in line. A running gateway takes it up at once."""

    async def work(_settings: Settings, ledger: Ledger) -> int:
        ids = [d.id for d in await ledger.dead_letters(1000)] if letter_id == "all" else [letter_id]
        for each in ids:
            await ledger.replay(each)
        return len(ids)

    err.print(f"Back in line: {with_ledger(work)}.")


@dead_letters.command()
def discard(
    letter_id: Annotated[str, typer.Argument(metavar="ID")],
    reason: Annotated[str, typer.Option(help="Why; kept with the letter.")],
) -> None:
    """Close a dead letter for good."""

    async def work(_settings: Settings, ledger: Ledger) -> None:
        await ledger.discard(letter_id, reason)

    with_ledger(work)
    err.print("Discarded.")


def _rows(rows: JsonValue, kind: str) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        at = str(row["at"])
        if kind == "messages":
            ending = f"{row['state']}{': ' + str(row['reason']) if row['reason'] else ''}"
            said = escape(str(row["text"]) or f"[{row['kind']}]")
            lines.append((at + "0", f"[dim]{at}[/] [bold]{escape(str(row['from']))}[/] {said} [dim]({ending})[/]"))
        else:
            params = row["params"]
            said = str(params.get("text", row["method"])) if isinstance(params, dict) else str(row["method"])
            error = f" {escape(str(row['error']))}" if row["error"] else ""
            lines.append((at + "1", f"[dim]{at}[/] [green]bot[/] {escape(said)} [dim]({row['status']}{error})[/]"))
    return lines
