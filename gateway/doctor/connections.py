"""The connections: what is known of them here. `postroom connection check` asks the providers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import ValidationError

from channels.adapter import Finding
from channels.errors import PostroomError
from channels.registry import load
from gateway.connecting import is_by_webhook
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from gateway.silence import SAMPLE, judge
from routes.connection import Connection
from routes.route import Route


async def about_connections(
    settings: Settings, ledger: Ledger, connections: Sequence[Connection], routes: Sequence[Route]
) -> list[Finding]:
    """Every check of every connection."""
    if not connections:
        return [Finding("connections", False, "No connection yet.", "postroom connection add --help")]
    findings: list[Finding] = []
    for row in connections:
        findings.append(_status(row))
        findings += _settings(row)
        if row.enabled:
            findings += _service(row, settings, [r for r in routes if r.connection_id == row.id and r.enabled])
            heard = judge(await ledger.arrivals(row.id, SAMPLE), 0, time.time())
            if not heard.ok:
                findings.append(replace(heard, message=f"Connection '{row.id}': {heard.message}"))
    return findings


def _status(row: Connection) -> Finding:
    check = f"postroom connection check {row.id}"
    name = f"Connection '{row.id}' ({row.channel})"
    if not row.enabled:
        return Finding("connection", True, f"{name} is disabled.")
    if row.status == "needs_attention":
        return Finding("connection", False, f"{name} needs attention. {row.status_detail}".strip(), check)
    if row.status == "unverified":
        return Finding("connection", True, f"{name} is unverified. {row.status_detail}".strip(), check)
    return Finding("connection", True, f"{name} is ok.")


def _settings(row: Connection) -> Iterator[Finding]:
    """Settings and secrets that don't make an adapter: the gateway leaves such a connection closed."""
    fix = f"Add it again: postroom connection add {row.channel} --id {row.id} …"
    try:
        channel = load(row.channel)
        checked = channel.settings.model_validate(row.settings)
    except PostroomError as error:
        yield Finding(error.code, False, f"Connection '{row.id}': {error.message}", error.fix)
        return
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        yield Finding("connection_settings", False, f"Connection '{row.id}': {place}: {first['msg']}.", fix)
        return
    missing = [s.name for s in channel.secrets if s.required and s.name not in row.secret_names]
    complaint = f"It has no {missing[0]}." if missing else channel.complain(checked, frozenset(row.secret_names))
    if complaint:
        yield Finding("connection_secrets", False, f"Connection '{row.id}': {complaint}", fix)


def _service(row: Connection, settings: Settings, live: Sequence[Route]) -> Iterator[Finding]:
    if is_by_webhook(row) and not settings.public_url:
        text = f"Connection '{row.id}' takes webhooks, and nobody can reach this gateway."
        yield Finding("no_public_url", False, text, "Set POSTROOM_PUBLIC_URL.")
    if not live:
        text = f"Connection '{row.id}' has no live route: nobody is answered there."
        yield Finding("connection_unrouted", True, text, f"postroom route deploy --connection {row.id} --agent AGENT")
    needs_owner = [r.id for r in live if r.access.policy in ("owner", "pairing")]
    if needs_owner and not row.owners:
        text = f"Connection '{row.id}' has no owner, and route '{needs_owner[0]}' is for one or wants one's word."
        yield Finding(
            "connection_owner",
            True,
            text,
            f"Add it again with one: postroom connection add {row.channel} --id {row.id} --owner ID …",
        )
