"""`postroom agent publish` and `unpublish`: agents that every gateway on the same database has."""

from __future__ import annotations

from gateway.cli.output import err, print_json
from gateway.cli.package import AgentId
from gateway.cli.support import Json, with_ledger
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Bundle
from gateway.settings import Settings


def publish(agent_id: AgentId, json: Json = False) -> None:
    """Give this home's package to every gateway on the same database, within a second. What is edited later is not."""
    from gateway.publishing import publish as publish_to_all

    async def work(settings: Settings, ledger: Ledger) -> Bundle:
        return await publish_to_all(settings, ledger, agent_id, "owner")

    bundle = with_ledger(work)
    if json:
        print_json({"id": agent_id, "digest": bundle.digest, "bytes": len(bundle.content)})
        return
    err.print(f"Published '{agent_id}' as {bundle.digest[:12]}: every gateway answers with it within a second.")


def unpublish(agent_id: AgentId) -> None:
    """Take it back: each gateway has what its own home has."""
    with_ledger(lambda _settings, ledger: ledger.unpublish(agent_id))
    err.print(f"'{agent_id}' is published no longer.")
