"""What every ledger must do. A ledger's own test file subclasses this with a `store` fixture of its kind."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gateway.ledger.protocol import Ledger
from tests.gateway.ledger.conformance_approvals import Approvals
from tests.gateway.ledger.conformance_configuration import Connections, Resealing, Routes, Versions
from tests.gateway.ledger.conformance_deliveries import Doubt, Moves, Reports, Sending
from tests.gateway.ledger.conformance_erase import Erasing
from tests.gateway.ledger.conformance_holds import Gateways
from tests.gateway.ledger.conformance_letters import DeadLetters
from tests.gateway.ledger.conformance_looking import Looking
from tests.gateway.ledger.conformance_messages import Holds, Messages, Twins
from tests.gateway.ledger.conformance_pairings import Pairings
from tests.gateway.ledger.conformance_people import People
from tests.gateway.ledger.conformance_prune import Pruning
from tests.gateway.ledger.conformance_shared import Shared
from tests.gateway.ledger.conformance_turns import Endings, Leases, Order, Retries, Waking
from tests.gateway.ledger.support import Store


class Conformance(
    Messages,
    Twins,
    Holds,
    Order,
    Leases,
    Endings,
    Retries,
    Waking,
    Sending,
    Doubt,
    Reports,
    Moves,
    DeadLetters,
    Connections,
    Routes,
    Versions,
    Approvals,
    People,
    Gateways,
    Pairings,
    Pruning,
    Looking,
    Erasing,
    Shared,
    Resealing,
):
    @pytest.fixture
    def store(self) -> Store:
        """The storage under test; each kind of ledger brings its own."""
        raise NotImplementedError

    @pytest.fixture
    async def ledger(self, store: Store) -> AsyncIterator[Ledger]:
        async with store.open() as ledger:
            yield ledger
