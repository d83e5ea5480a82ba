"""The ledger: whether somebody works on it, and what has waited for too long."""

from __future__ import annotations

import time
from collections.abc import Iterator

from channels.adapter import Finding
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Depths, Pulse
from gateway.ledger.sqlite.lock import has_worker
from gateway.settings import Settings
from gateway.times import spell

LATE = 300.0
"""Seconds after which a message without an end has waited too long: its tries take less than a minute."""

FUTURE = 60.0
"""Seconds that a message may be younger than now before the clock is in doubt."""

LONG_LOG = 1_000_000_000
"""Bytes of a write-ahead log past which somebody has kept a read open for long."""


async def about_ledger(settings: Settings, ledger: Ledger) -> list[Finding]:
    """Every check of what waits. Whether it is sound is `postroom ledger check`'s."""
    depths, pulse, now = await ledger.depths(), await ledger.pulse(LATE), time.time()
    running = _runs(settings, pulse)
    return [
        _gateway(running),
        _depths(depths),
        *_dead(depths),
        *_late(pulse, now, running=running),
        *_unsure(pulse),
        _clock(pulse, now),
        *_log(settings),
        *await _asked(ledger),
    ]


def _runs(settings: Settings, pulse: Pulse) -> int:
    """How many gateways work on it."""
    if settings.database_url:
        return len(pulse.gateways)
    return int(has_worker(settings.ledger_path))


def _gateway(running: int) -> Finding:
    if running:
        return Finding("gateway", True, f"{running} gateway(s) at work.")
    return Finding("gateway", True, "No gateway is running.", "Start it: postroom up")


def _depths(depths: Depths) -> Finding:
    text = f"{depths.waiting_messages} waiting, {depths.running_turns} running, {depths.pending_deliveries} to send."
    return Finding("ledger", True, text)


def _dead(depths: Depths) -> Iterator[Finding]:
    if depths.dead_letters:
        text = f"{depths.dead_letters} dead letter(s): they ran out of tries, and wait for you."
        yield Finding("dead_letters", False, text, "postroom dead-letter list")


def _late(pulse: Pulse, now: float, *, running: int) -> Iterator[Finding]:
    fix = "Look at the gateway's log." if running else "Start the gateway: postroom up"
    if pulse.oldest_open is not None and now - pulse.oldest_open > LATE:
        text = f"The oldest message without an answer has waited for {spell(now - pulse.oldest_open)}."
        yield Finding("late_messages", False, text, fix)
    if pulse.oldest_unsent is not None and now - pulse.oldest_unsent > LATE:
        text = f"The oldest reply not yet sent has waited for {spell(now - pulse.oldest_unsent)}."
        yield Finding("late_deliveries", False, text, fix)


def _unsure(pulse: Pulse) -> Iterator[Finding]:
    if pulse.unknown:
        text = f"Of {pulse.unknown} piece(s) nobody knows whether they arrived."
        yield Finding("unknown_deliveries", True, text, "Send again or discard: postroom dead-letter list")


def _clock(pulse: Pulse, now: float) -> Finding:
    ahead = (pulse.newest or 0.0) - now
    if ahead <= FUTURE:
        return Finding("clock", True, "The clock goes with the ledger's.")
    text = f"The newest message is from {spell(ahead)} ahead of this clock: one of them was or is wrong."
    return Finding("clock", False, text, "Set the clock, and let NTP keep it.")


def _log(settings: Settings) -> Iterator[Finding]:
    log = settings.ledger_path.with_name(f"{settings.ledger_path.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > LONG_LOG:
        text = f"The ledger's write-ahead log has grown to {size / 1e9:.1f} GB."
        yield Finding("write_ahead_log", False, text, "Stop what has been reading the ledger for long, and restart.")


async def _asked(ledger: Ledger) -> list[Finding]:
    """What waits for the owner's word."""
    findings: list[Finding] = []
    waiting = [a for a in await ledger.approvals() if a.state == "waiting"]
    if waiting:
        text = f"{len(waiting)} change(s) wait for your yes."
        findings.append(Finding("approvals", True, text, "postroom approval list"))
    strangers = await ledger.pairings()
    if strangers:
        text = f"{len(strangers)} stranger(s) wait to be let in."
        findings.append(Finding("pairings", True, text, "postroom pairing list"))
    return findings
