from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "tests.gateway.ledger.conformance",
    "tests.gateway.ledger.conformance_configuration",
    "tests.gateway.ledger.conformance_deliveries",
    "tests.gateway.ledger.conformance_holds",
    "tests.gateway.ledger.conformance_letters",
    "tests.gateway.ledger.conformance_messages",
    "tests.gateway.ledger.conformance_pairings",
    "tests.gateway.ledger.conformance_prune",
    "tests.gateway.ledger.conformance_turns",
    "tests.gateway.ledger.machine",
    "tests.gateway.ledger.support",
)
