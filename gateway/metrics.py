"""What Prometheus reads at /metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gateway.ledger.records import Depths

REGISTRY = CollectorRegistry()

ACCEPTED = Counter("postroom_messages_accepted_total", "Events made durable", ["channel", "result"], registry=REGISTRY)
ENDED = Counter(
    "postroom_messages_ended_total",
    "Messages by how they ended",
    ["channel", "outcome", "reason"],
    registry=REGISTRY,
)
RUN_SECONDS = Histogram("postroom_run_seconds", "Time in the agent's run, model included", registry=REGISTRY)
TOKENS = Counter("postroom_tokens_total", "Model tokens", ["agent", "direction"], registry=REGISTRY)
SENT = Counter("postroom_deliveries_total", "Provider calls by outcome", ["channel", "outcome"], registry=REGISTRY)
HOOKS = Counter("postroom_hooks_total", "Webhook requests by HTTP status", ["status"], registry=REGISTRY)
_DEPTH = Gauge("postroom_depth", "What waits in the ledger", ["what"], registry=REGISTRY)


_LEDGER_UP = Gauge("postroom_ledger_up", "Whether the ledger could be read just now", registry=REGISTRY)


def exposition(depths: Depths | None) -> bytes:
    """All metrics in Prometheus' text format; without `depths` the ledger could not be read."""
    _LEDGER_UP.set(depths is not None)
    if depths is None:
        _DEPTH.clear()
        return generate_latest(REGISTRY)
    _DEPTH.labels("waiting_messages").set(depths.waiting_messages)
    _DEPTH.labels("running_turns").set(depths.running_turns)
    _DEPTH.labels("pending_deliveries").set(depths.pending_deliveries)
    _DEPTH.labels("dead_letters").set(depths.dead_letters)
    return generate_latest(REGISTRY)
