"""Explaining a message: every decision about it, in order, without sending or storing anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import JsonValue

from agents_runtime.prompt import build_prompt
from agents_runtime.registry import Registry
from agents_runtime.sessions import next_session
from agents_runtime.tools.grants import open_to, resolve_grants
from channels.errors import PostroomError
from channels.message import InboundMessage
from channels.registry import load
from gateway.builder import KNOWN
from gateway.connections import Opened
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import StoredMessage
from gateway.times import iso
from routes.access import admit
from routes.connection import Connection
from routes.resolve import RouteTable
from routes.scope import describe


@dataclass(frozen=True, slots=True)
class Step:
    """One decision: its name, what came out, and the facts behind it."""

    name: str
    outcome: str
    facts: dict[str, JsonValue]


async def explain_payload(
    opened: Opened, payload: Mapping[str, JsonValue], ledger: Ledger, registry: Registry
) -> list[Step]:
    """What would become of a provider's payload, from normalising on."""
    messages = opened.adapter.normalise(payload, datetime.now(UTC))
    if not messages:
        return [Step("normalised", "nothing for an agent in this payload", {"kinds": [*payload]})]
    steps: list[Step] = []
    for message in messages:
        steps += [_normalised(message), *await _decisions(message, opened.connection, ledger, registry)]
    return steps


async def explain_stored(
    stored: StoredMessage, connection: Connection | None, ledger: Ledger, registry: Registry
) -> list[Step]:
    """What became of a stored message, and how it would be decided now."""
    message = stored.message
    ended: dict[str, JsonValue] = {"turn": stored.turn_id or None, "reason": stored.reason or None}
    steps = [_normalised(message), Step("ended", stored.state, ended)]
    if connection is None:
        return [*steps, Step("connection", "it is gone", {"id": message.connection_id})]
    return [*steps, *await _decisions(message, connection, ledger, registry)]


def _normalised(message: InboundMessage) -> Step:
    facts: dict[str, JsonValue] = {
        "id": message.id,
        "conversation": message.conversation.key,
        "scope": message.scope,
        "sender": message.sender.id,
        "isBot": message.sender.is_bot,
        "command": None if message.command is None else message.command.name,
        "mentionsBot": message.mentions_bot,
        "attachments": len(message.attachments),
        "dedupeKeys": [*message.dedupe_keys],
        "receivedAt": iso(message.received_at.timestamp()),
        "text": message.text,
    }
    return Step("normalised", message.kind, facts)


async def _decisions(message: InboundMessage, connection: Connection, ledger: Ledger, registry: Registry) -> list[Step]:
    table = RouteTable(r for r in await ledger.routes() if r.connection_id == connection.id)
    found = table.resolve(message)
    if found.route is None:
        considered: list[JsonValue] = [
            f"{c.route.id}: {c.verdict}{' (' + ', '.join(c.misses) + ')' if c.misses else ''}"
            for c in table.explain(message).considered
        ]
        return [Step("route", found.reason, {"connection": connection.id, "considered": considered})]
    route = found.route
    scope: dict[str, JsonValue] = {k: v if isinstance(v, str) else [*v] for k, v in describe(route.scope).items()}
    steps = [Step("route", route.id, {"scope": scope, "fallback": route.fallback})]
    admission = admit(route, connection, message)
    answer: dict[str, JsonValue] = {"policy": route.access.policy, "answer": admission.answer or None}
    steps.append(Step("access", "allowed" if admission.allowed else admission.reason, answer))
    if not admission.allowed:
        return steps
    try:
        package = registry.get(route.agent_id)
    except PostroomError as error:
        return [*steps, Step("agent", error.code, {"message": error.message, "fix": error.fix})]
    reachable = open_to(package.id, package.source, KNOWN)
    grants = resolve_grants(package.manifest.allowed_tools, reachable)
    agent: dict[str, JsonValue] = {"source": package.source, "status": package.manifest.status}
    steps.append(Step("agent", package.id, {**agent, "revision": package.revision[:12]}))
    session = await ledger.session(message.conversation, package.id)
    verdict = next_session(session, idle_rollover=package.manifest.idle_rollover, now=message.received_at.timestamp())
    last = None if session is None else iso(session.last_at)
    steps.append(Step("session", "goes on" if verdict == "keep" else "a fresh one", {"lastAt": last}))
    prompt = build_prompt(package, manner=load(connection.channel).manner, now=datetime.now(UTC).astimezone())
    parts: dict[str, JsonValue] = {part.name: part.tokens for part in prompt.parts}
    steps.append(Step("prompt", f"about {sum(p.tokens for p in prompt.parts)} tokens", parts))
    steps.append(Step("tools", ", ".join(sorted(grants.tools)) or "none", {"missing": [*grants.missing]}))
    return steps
