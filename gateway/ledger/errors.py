"""What a ledger raises."""

from __future__ import annotations

from channels.errors import PostroomError


class LeaseLost(PostroomError):
    """This worker no longer owns the turn: its lease ran out and another took it over. Nothing was changed."""

    code = "lease_lost"


class LedgerUnavailable(PostroomError):
    """The ledger can't write now (disk full, database away). Nothing was stored; the provider should try again."""

    code = "ledger_unavailable"


class LedgerInUse(PostroomError):
    """Another process already works on this ledger."""

    code = "ledger_in_use"


class NotFound(PostroomError):
    """No such row."""

    code = "not_found"


class StateChanged(PostroomError):
    """Another gateway wrote the file of an agent's state since it was read. Nothing was changed."""

    code = "state_changed"
