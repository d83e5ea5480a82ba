"""`postroom top`: what is going on, as it goes on."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gateway.cli.output import out, print_json
from gateway.cli.support import Json, beside
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Depths, Pulse
from gateway.settings import Settings
from gateway.times import spell

WHILE = 60.0
"""Seconds that the counts are of."""


def top(
    every: Annotated[float, typer.Option(min=0.2, max=60, help="Seconds between looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Look once.")] = False,
    json: Json = False,
) -> None:
    """Watch the last minute: messages, answers, sends, and what waits. Ctrl-C ends it."""
    try:
        asyncio.run(_watch(every, once=once or json, as_json=json))
    except KeyboardInterrupt:
        return


async def _watch(every: float, *, once: bool, as_json: bool) -> None:
    async with beside(Settings.from_env()) as ledger:
        if as_json:
            depths, pulse = await _look(ledger)
            print_json(_plain(depths, pulse))
        elif once:
            out.print(_page(*await _look(ledger)))
        else:
            with Live(_page(*await _look(ledger)), console=out, auto_refresh=False, screen=out.is_terminal) as live:
                while True:
                    await asyncio.sleep(every)
                    live.update(_page(*await _look(ledger)), refresh=True)


async def _look(ledger: Ledger) -> tuple[Depths, Pulse]:
    return await ledger.depths(), await ledger.pulse(WHILE)


def _plain(depths: Depths, pulse: Pulse) -> dict[str, JsonValue]:
    return {
        "seconds": WHILE,
        **asdict(depths),
        **asdict(pulse),
        "gateways": [*pulse.gateways],
        "run_seconds": [*pulse.run_seconds],
    }


def _page(depths: Depths, pulse: Pulse) -> RenderableType:
    now = time.time()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("connection", "received", "answered", "sent", "failed"):
        table.add_column(heading, justify="left" if heading == "connection" else "right")
    for line in pulse.connections:
        numbers = (line.received, line.answered, line.sent, line.failed)
        table.add_row(escape(line.connection_id), *map(str, numbers))
    waits = [f"{depths.waiting_messages} waiting", f"{depths.running_turns} running"]
    waits += [f"{depths.pending_deliveries} to send", f"{depths.dead_letters} dead"]
    lines = [
        Text(f"The last minute, at {time.strftime('%H:%M:%S', time.localtime(now))}"),
        Text(", ".join(waits)),
        Text(_age("oldest without an answer", pulse.oldest_open, now)),
        Text(_runs(pulse)),
    ]
    if pulse.gateways:
        lines.append(Text(f"{len(pulse.gateways)} gateway(s): {', '.join(pulse.gateways)}"))
    return Group(*lines, Text(""), table if pulse.connections else Text("Nothing came or went."))


def _age(what: str, since: float | None, now: float) -> str:
    return f"{what}: {'none' if since is None else spell(max(0.0, now - since))}"


def _runs(pulse: Pulse) -> str:
    seconds = pulse.run_seconds
    if not seconds:
        return "no run ended"
    middle, slow = seconds[len(seconds) // 2], seconds[min(len(seconds) - 1, len(seconds) * 95 // 100)]
    return f"{len(seconds)} run(s): half within {middle:.2f} s, 95 % within {slow:.2f} s; {pulse.tokens} tokens"
