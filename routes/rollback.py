"""Undoing the last change of routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from channels.errors import PostroomError
from routes.change import Decide, RouteChange
from routes.conflicts import first_clash
from routes.connection import Connection
from routes.route import Route

ROLLBACK = "rollback"
"""The action by which the history knows an undoing."""


class RollbackRefused(PostroomError):
    """There is nothing to undo, or what the last change replaced can't come back as it was."""

    code = "rollback_refused"


class Deployed(Protocol):
    """A change as the history keeps it: the touched routes before and after it."""

    @property
    def action(self) -> str:
        """What it was."""
        ...

    @property
    def before(self) -> tuple[Route, ...]:
        """The touched routes as they were."""
        ...

    @property
    def after(self) -> tuple[Route, ...]:
        """The touched routes as they were written."""
        ...


def decide_rollback(history: Sequence[Deployed], by: str = "owner") -> Decide:
    """Undo the newest change that isn't undone yet: what it wrote goes, what it replaced comes back.

    Done again, it goes back one more. `history` is newest first. Raises RollbackRefused where nothing is left to undo;
    the decision raises it where a route changed again since, or where what comes back would now conflict.
    """
    last = to_undo(history)
    before, after = {r.id: r for r in last.before}, {r.id: r for r in last.after}

    def decide(connections: list[Connection], routes: list[Route]) -> RouteChange:
        current = {r.id: r for r in routes}
        changed = sorted(i for i in before.keys() | after.keys() if current.get(i) != after.get(i))
        if changed:
            fix = "Deploy or disable what you want instead."
            raise RollbackRefused(f"Route '{changed[0]}' was changed again since.", fix=fix)
        known = {c.id for c in connections}
        for route in last.before:
            if route.connection_id not in known:
                message = f"Route '{route.id}' is on connection '{route.connection_id}', which is gone."
                raise RollbackRefused(message, fix="Add the connection again, then roll back.")
        clash = first_clash(last.before, [*(r for r in routes if r.id not in after), *last.before])
        if clash is not None:
            message = f"Route '{clash[0].id}' would conflict with '{clash[1].id}', which came later."
            raise RollbackRefused(message, fix=f"Disable it first: postroom route disable {clash[1].id}")
        return RouteChange(put=last.before, action=ROLLBACK, by=by, remove=frozenset(after.keys() - before.keys()))

    return decide


def to_undo(history: Sequence[Deployed]) -> Deployed:
    """The newest change that a later rollback hasn't undone; one that changed nothing is passed over."""
    rollbacks: list[Deployed] = []
    for change in history:
        before, after = set(change.before), set(change.after)
        if before == after:
            continue
        if change.action == ROLLBACK:
            rollbacks.append(change)
        elif rollbacks and (set(rollbacks[-1].after), set(rollbacks[-1].before)) == (before, after):
            rollbacks.pop()
        else:
            return change
    raise RollbackRefused("There is no change of routes left to undo.", fix="See what is live: postroom route list")
