"""Deciding a change of routes. Each decision runs inside the ledger's writing transaction, on what is true there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from channels.errors import PostroomError
from routes.blockers import names
from routes.change import Decide, RouteChange
from routes.conflicts import first_clash
from routes.connection import Connection
from routes.preflight import Facts, Preflight, Proposal, preflight
from routes.route import Route

FactsOf = Callable[[list[Connection], list[Route]], Facts]

CURABLE = frozenset({"route_conflict", "second_fallback"})
"""Blockers that disabling the conflicting routes takes away."""

ROLLBACK = "rollback"
"""The action by which the history knows an undoing."""


class DeployRefused(PostroomError):
    """Preflight found blockers. `preflight` is all it found."""

    code = "deploy_refused"

    def __init__(self, found: Preflight) -> None:
        super().__init__("; ".join(f"[{b.code}] {b.message}" for b in found.blockers), fix=found.blockers[0].fix)
        self.preflight = found


class PreflightStale(PostroomError):
    """Something changed since the preflight that was approved. `preflight` is what it finds now."""

    code = "preflight_stale"

    def __init__(self, found: Preflight) -> None:
        super().__init__("Something changed since this was checked.", fix="Run the preflight again, and look at it.")
        self.preflight = found


class RouteUnknown(PostroomError):
    """No such route."""

    code = "route_unknown"


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


def decide_deploy(
    proposal: Proposal,
    facts_of: FactsOf,
    *,
    fingerprint: str | None = None,
    disable_conflicting: bool = False,
    by: str = "owner",
) -> Decide:
    """Put a route live if nothing stands in the way.

    `fingerprint` binds the deploy to the preflight that was shown. `disable_conflicting` disables the routes in the way
    in the same change, and the change names them. The decision raises DeployRefused or PreflightStale.
    """

    def decide(connections: list[Connection], routes: list[Route]) -> RouteChange:
        found = preflight(proposal, facts_of(connections, routes))
        return _go_live("deploy", found, fingerprint, disable_conflicting, by)

    return decide


def decide_enable(
    route_id: str,
    facts_of: FactsOf,
    *,
    fingerprint: str | None = None,
    disable_conflicting: bool = False,
    by: str = "owner",
) -> Decide:
    """Put a route back in service, under the same conditions as a deploy. The decision may raise RouteUnknown too."""

    def decide(connections: list[Connection], routes: list[Route]) -> RouteChange:
        found = preflight(proposal_of(_find(route_id, routes)), facts_of(connections, routes))
        return _go_live("enable", found, fingerprint, disable_conflicting, by)

    return decide


def decide_disable(route_id: str, by: str = "owner") -> Decide:
    """Take a route out of service. The decision raises RouteUnknown."""

    def decide(_connections: list[Connection], routes: list[Route]) -> RouteChange:
        route = replace(_find(route_id, routes), enabled=False)
        return RouteChange(put=(route,), action=f"disable {route_id}", by=by)

    return decide


def decide_rollback(before: Sequence[Route], after: Sequence[Route], by: str = "owner") -> Decide:
    """Undo one change: what it wrote goes, what it replaced comes back. The decision raises RollbackRefused.

    It refuses where a route changed again since, or where what comes back would now conflict.
    """
    was, became = {r.id: r for r in before}, {r.id: r for r in after}

    def decide(connections: list[Connection], routes: list[Route]) -> RouteChange:
        current = {r.id: r for r in routes}
        changed = sorted(i for i in was.keys() | became.keys() if current.get(i) != became.get(i))
        if changed:
            fix = "Deploy or disable what you want instead."
            raise RollbackRefused(f"Route '{changed[0]}' was changed again since.", fix=fix)
        known = {c.id for c in connections}
        for route in before:
            if route.connection_id not in known:
                message = f"Route '{route.id}' is on connection '{route.connection_id}', which is gone."
                raise RollbackRefused(message, fix="Add the connection again, then roll back.")
        clash = first_clash(before, [*(r for r in routes if r.id not in became), *before])
        if clash is not None:
            message = f"Route '{clash[0].id}' would conflict with '{clash[1].id}', which came later."
            raise RollbackRefused(message, fix=f"Disable it first: postroom route disable {clash[1].id}")
        remove = frozenset(became.keys() - was.keys())
        return RouteChange(put=tuple(before), action=ROLLBACK, by=by, remove=remove)

    return decide


def to_undo(history: Sequence[Deployed]) -> Deployed:
    """The newest change that isn't undone yet, so that each rollback goes back one more. `history` is newest first.

    Raises RollbackRefused where nothing is left.
    """
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


def proposal_of(route: Route) -> Proposal:
    """The proposal to put a route live as it is."""
    return Proposal(
        connection_id=route.connection_id,
        agent_id=route.agent_id,
        scope=route.scope,
        access=route.access,
        fallback=route.fallback,
        route_id=route.id,
    )


def _go_live(action: str, found: Preflight, fingerprint: str | None, disable_conflicting: bool, by: str) -> RouteChange:
    if fingerprint is not None and fingerprint != found.fingerprint:
        raise PreflightStale(found)
    blockers = [b for b in found.blockers if not (disable_conflicting and b.code in CURABLE)]
    if blockers:
        raise DeployRefused(replace(found, blockers=tuple(blockers)))
    disabled = tuple(replace(r, enabled=False) for r in found.conflicts)
    named = f", disabling {names([r.id for r in disabled])}" if disabled else ""
    return RouteChange(put=(*disabled, found.route), action=f"{action} {found.route.id}{named}", by=by)


def _find(route_id: str, routes: Sequence[Route]) -> Route:
    for route in routes:
        if route.id == route_id:
            return route
    known = names([r.id for r in routes]) or "none yet"
    raise RouteUnknown(f"There is no route '{route_id}'.", fix=f"Known routes: {known}.")
