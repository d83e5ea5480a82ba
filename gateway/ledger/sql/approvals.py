"""Approvals: asked for once, decided once."""

from __future__ import annotations

from pydantic import TypeAdapter

from gateway.ledger.approval import Approval, ApprovalState
from gateway.ledger.errors import NotFound
from gateway.ledger.sql.database import Database

_APPROVAL = TypeAdapter(Approval)

_ADD = "INSERT INTO approvals (id, state, created_at, data) VALUES (?, ?, ?, ?)"

_MOVE = "UPDATE approvals SET state = ?, data = ? WHERE id = ? AND state = ?"

_ONE = "SELECT data FROM approvals WHERE id = ?"

_NEWEST = "SELECT data FROM approvals ORDER BY id DESC LIMIT ?"


def add_approval(db: Database, approval: Approval) -> None:
    """Keep a new one."""
    db.execute(_ADD, (approval.id, approval.state, approval.created_at, _APPROVAL.dump_json(approval).decode()))


def move_approval(db: Database, approval: Approval, before: ApprovalState) -> bool:
    """Write it as it is now, if it still was in the state `before`."""
    data = _APPROVAL.dump_json(approval).decode()
    return db.execute(_MOVE, (approval.state, data, approval.id, before)).rowcount == 1


def approval(db: Database, approval_id: str) -> Approval:
    """One of them. Raises NotFound."""
    row = db.execute(_ONE, (approval_id,)).fetchone()
    if row is None:
        raise NotFound(f"There is no approval '{approval_id}'.", fix="See what waits: postroom approval list")
    return _APPROVAL.validate_json(row[0])


def approvals(db: Database, limit: int) -> list[Approval]:
    """Newest first."""
    return [_APPROVAL.validate_json(data) for (data,) in db.execute(_NEWEST, (limit,))]
