"""What a person changed: who, when, what, and how it was before and after."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the audit log. `before` and `after` are words or JSON, without secrets; `at` is set by the ledger."""

    person: str
    action: str
    target: str
    before: str = ""
    after: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Takeover:
    """A conversation that a person answers instead of its agent."""

    conversation_key: str
    person: str
    at: float
