"""What `postroom doctor` looks at: each check says what it saw and what to do."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace

from agents_runtime.models import ModelCatalogue
from agents_runtime.registry import Registry
from builder_skill.system_skill import installed
from channels.adapter import Finding
from channels.errors import PostroomError
from gateway.connecting import is_by_webhook
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from gateway.silence import SAMPLE, judge
from gateway.vault import load_vault

LOW_DISK = 1_000_000_000
"""Bytes free below which accepting messages is at risk."""


async def examine(settings: Settings, ledger: Ledger, registry: Registry) -> list[Finding]:
    """Every check, in the order in which a person would put things right."""
    return [
        _home(settings),
        _key(settings),
        _disk(settings),
        *_models(settings),
        *_agents(registry),
        _builder(settings),
        *await _connections(settings, ledger),
        *await _routes(ledger, registry),
        await _stuck(ledger),
    ]


def _home(settings: Settings) -> Finding:
    mode = settings.home.stat().st_mode & 0o077
    fix = f"Run: chmod 700 '{settings.home}'" if mode else ""
    return Finding("home", not mode, f"The home folder is {settings.home}.", fix)


def _key(settings: Settings) -> Finding:
    try:
        older = load_vault(settings.key_path).older_keys
    except PostroomError as error:
        return Finding("key", False, error.message, error.fix)
    source = "POSTROOM_KEY" if os.environ.get("POSTROOM_KEY") else "a file only you can read"
    rotated = f" {older} older key(s) still open what was sealed before; see: postroom key retire" if older else ""
    return Finding("key", True, f"The vault's key comes from {source}.{rotated}")


def _disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.home).free
    return Finding("disk", free > LOW_DISK, f"{free / 1e9:.1f} GB are free.", "" if free > LOW_DISK else "Make room.")


def _models(settings: Settings) -> list[Finding]:
    try:
        catalogue = ModelCatalogue(settings.models, os.environ)
    except PostroomError as error:
        return [Finding(error.code, False, error.message, error.fix)]
    return [Finding("models", True, catalogue.describe(), catalogue.advice())]


def _agents(registry: Registry) -> list[Finding]:
    entries = registry.entries()
    broken = [
        Finding("agent", False, f"Agent '{e.id}' can't run: {e.problem}", f"postroom agent show {e.id}")
        for e in entries
        if e.problem
    ]
    return [Finding("agents", True, f"{len(entries)} agent(s) found."), *broken]


def _builder(settings: Settings) -> Finding:
    names = [skill.name for skill in installed(settings.home)]
    if not names:
        return Finding("builder_skill", False, "The builder's skill is missing or was changed.", "Run: postroom init")
    return Finding("builder_skill", True, f"System skill {', '.join(names)}: protected, not listed, not editable.")


async def _connections(settings: Settings, ledger: Ledger) -> list[Finding]:
    rows = await ledger.connections()
    if not rows:
        return [Finding("connections", False, "No connection yet.", "postroom connection add --help")]
    findings: list[Finding] = []
    for row in rows:
        ok = row.status != "needs_attention"
        text = f"Connection '{row.id}' ({row.channel}) is {row.status.replace('_', ' ')}. {row.status_detail}".strip()
        findings.append(Finding("connection", ok, text, "" if ok else f"postroom connection check {row.id}"))
        heard = judge(await ledger.arrivals(row.id, SAMPLE), 0, time.time())
        if row.enabled and not heard.ok:
            findings.append(replace(heard, message=f"Connection '{row.id}': {heard.message}"))
        if is_by_webhook(row) and not settings.public_url:
            text = f"Connection '{row.id}' takes webhooks, and nobody can reach this gateway."
            findings.append(Finding("no_public_url", False, text, "Set POSTROOM_PUBLIC_URL."))
    return findings


async def _routes(ledger: Ledger, registry: Registry) -> list[Finding]:
    routes = [r for r in await ledger.routes() if r.enabled]
    if not routes:
        return [
            Finding("routes", False, "No route is live: nobody is answered.", "postroom route deploy --help"),
        ]
    findings = [Finding("routes", True, f"{len(routes)} live route(s).")]
    for agent_id in sorted({r.agent_id for r in routes}):
        problem = _why_not(registry, agent_id)
        if problem:
            users: Sequence[str] = [r.id for r in routes if r.agent_id == agent_id]
            text = f"Route {', '.join(users[:3])} leads to '{agent_id}', which can't answer: {problem}"
            findings.append(Finding("route", False, text, f"postroom agent show {agent_id}"))
    return findings


def _why_not(registry: Registry, agent_id: str) -> str:
    try:
        status = registry.get(agent_id).manifest.status
    except PostroomError as error:
        return error.message
    return "" if status == "production" else f"its status is {status}."


async def _stuck(ledger: Ledger) -> Finding:
    depths = await ledger.depths()
    text = f"{depths.waiting_messages} waiting, {depths.running_turns} running, {depths.dead_letters} dead letter(s)."
    return Finding("ledger", depths.dead_letters == 0, text, "postroom dead-letter list" if depths.dead_letters else "")
