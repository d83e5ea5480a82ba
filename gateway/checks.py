"""Whether a connection works: what the provider says, where its address leads, and what has arrived."""

from __future__ import annotations

import time
from dataclasses import asdict, replace

from pydantic import JsonValue

from channels.adapter import ConnectionReport, Finding
from channels.errors import PostroomError
from gateway.connecting import is_by_webhook
from gateway.connections import open_connection
from gateway.ledger.protocol import Ledger
from gateway.reach import reach
from gateway.settings import Settings
from gateway.silence import SAMPLE, judge
from gateway.vault import load_vault
from routes.connection import Connection, ConnectionStatus

BROKEN = frozenset({"token", "vault_seal_broken", "connection_broken"})
"""Findings that no waiting mends. A provider that can't be reached now, or a webhook not set yet, leaves it open."""


async def check_connection(connection: Connection, ledger: Ledger, settings: Settings) -> dict[str, JsonValue]:
    """Check one connection, write down what was found, and return the report as plain JSON.

    The provider's word alone makes the status: a gateway that is down, or a quiet week, is a finding and no more.
    """
    try:
        opened = await open_connection(connection, ledger, load_vault(settings.key_path), settings)
        async with opened.stack:
            report = await opened.adapter.check()
    except PostroomError as error:
        report = ConnectionReport(ok=False, findings=(Finding(error.code, False, error.message, error.fix),))
    seen = [judge(await ledger.arrivals(connection.id, SAMPLE), report.waiting, time.time())]
    hook_url = settings.hook_url(connection.id, connection.hook_secret)
    if hook_url and is_by_webhook(connection):
        seen.insert(0, await reach(hook_url))
    await _write_down(connection, report, ledger)
    findings = [*report.findings, *seen]
    return {
        "id": connection.id,
        "channel": connection.channel,
        "ok": all(f.ok for f in findings),
        "account": report.account,
        "findings": [asdict(f) for f in findings],
    }


async def _write_down(connection: Connection, report: ConnectionReport, ledger: Ledger) -> None:
    """The status goes on the row as it is now: meanwhile somebody may have changed it, or removed it."""
    detail = "; ".join(f.message for f in report.findings if not f.ok)
    for row in await ledger.connections():
        if (row.id, row.settings) == (connection.id, connection.settings):
            privacy_mode = row.privacy_mode if report.privacy_mode is None else report.privacy_mode
            now = replace(row, status=_status(report, row), status_detail=detail, privacy_mode=privacy_mode)
            await ledger.put_connection(now)


def _status(report: ConnectionReport, row: Connection) -> ConnectionStatus:
    """A provider that can't be reached says nothing new: what needed attention before still does."""
    codes = {f.code for f in report.findings if not f.ok}
    if codes & BROKEN or ("unreachable" in codes and row.status == "needs_attention"):
        return "needs_attention"
    return "ok" if report.ok else "unverified"
