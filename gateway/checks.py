"""Whether a connection works: what the provider says, and what has arrived."""

from __future__ import annotations

from dataclasses import asdict, replace

from pydantic import JsonValue

from channels.adapter import ConnectionReport, Finding
from channels.errors import PostroomError
from gateway.connections import open_connection
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from gateway.times import iso
from gateway.vault import load_vault
from routes.connection import Connection, ConnectionStatus

BROKEN = frozenset({"token", "vault_seal_broken", "connection_broken"})
"""Findings that no waiting mends. A provider that can't be reached now, or a webhook not set yet, leaves it open."""


async def check_connection(connection: Connection, ledger: Ledger, settings: Settings) -> dict[str, JsonValue]:
    """Check one connection, write its status down, and return the report as plain JSON."""
    try:
        opened = await open_connection(connection, ledger, load_vault(settings.key_path), settings)
        async with opened.stack:
            report = await opened.adapter.check()
    except PostroomError as error:
        report = ConnectionReport(ok=False, findings=(Finding(error.code, False, error.message, error.fix),))
    last = await ledger.last_inbound(connection.id)
    if last is None:
        heard = Finding("last_event", True, "No event has arrived yet.", "Send the bot a message to see one.")
    else:
        heard = Finding("last_event", True, f"The last event arrived at {iso(last)}.")
    problems = [f for f in report.findings if not f.ok]
    status: ConnectionStatus = "ok" if report.ok else "unverified"
    if any(f.code in BROKEN for f in problems):
        status = "needs_attention"
    detail = "; ".join(f.message for f in problems)
    await ledger.put_connection(replace(connection, status=status, status_detail=detail))
    return {
        "id": connection.id,
        "channel": connection.channel,
        "ok": report.ok,
        "account": report.account,
        "findings": [asdict(f) for f in (*report.findings, heard)],
    }
