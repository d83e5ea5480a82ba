"""Deciding a change of routes. Each decision runs inside the ledger's writing transaction, on what is true there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from channels.errors import PostroomError
from routes.change import RouteChange
from routes.connection import Connection
from routes.preflight import Facts, Preflight, Proposal, preflight
from routes.route import Route
from routes.scope import overlap

Decide = Callable[[list[Connection], list[Route]], RouteChange]

CURABLE = frozenset({"route_conflict", "second_fallback"})
"""Blockers that disabling the conflicting routes takes away."""


class DeployRefused(PostroomError):
    """Preflight found blockers. `preflight` is all it found."""

    code = "deploy_refused"

    def __init__(self, found: Preflight) -> None:
        first = found.blockers[0]
        super().__init__("; ".join(f"[{b.code}] {b.message}" for b in found.blockers), fix=first.fix)
        self.preflight = found


class PreflightStale(PostroomError):
    """Something changed since the preflight that was approved."""

    code = "preflight_stale"


class RouteUnknown(PostroomError):
    """No such route."""

    code = "route_unknown"


class RollbackRefused(PostroomError):
    """What the last change replaced can't come back as it was."""

    code = "rollback_refused"


def decide_deploy(
    proposal: Proposal,
    facts_of: Callable[[list[Connection], list[Route]], Facts],
    *,
    fingerprint: str | None = None,
    disable_conflicting: bool = False,
    by: str = "owner",
) -> Decide:
    """Put a route live if nothing stands in the way.

    `fingerprint` binds the deploy to the preflight that was shown. The decision raises DeployRefused or PreflightStale.
    """

    def decide(connections: list[Connection], routes: list[Route]) -> RouteChange:
        found = preflight(proposal, facts_of(connections, routes))
        if fingerprint is not None and fingerprint != found.fingerprint:
            raise PreflightStale("Something changed since this was checked.", fix="Run the preflight again.")
        blockers = [b for b in found.blockers if not (disable_conflicting and b.code in CURABLE)]
        if blockers:
            raise DeployRefused(replace(found, blockers=tuple(blockers)))
        disabled = tuple(replace(r, enabled=False) for r in found.conflicts)
        return RouteChange(put=(*disabled, found.route), action="deploy", by=by)

    return decide


def decide_disable(route_id: str, by: str = "owner") -> Decide:
    """Take a route out of service. The decision raises RouteUnknown."""

    def decide(_connections: list[Connection], routes: list[Route]) -> RouteChange:
        route = next((r for r in routes if r.id == route_id), None)
        if route is None:
            known = ", ".join(r.id for r in routes[:20]) or "none"
            raise RouteUnknown(f"There is no route '{route_id}'.", fix=f"Known routes: {known}.")
        return RouteChange(put=(replace(route, enabled=False),), action="disable", by=by)

    return decide


def decide_rollback(before: Sequence[Route], after: Sequence[Route], by: str = "owner") -> Decide:
    """Undo one change: what it wrote goes, what it replaced comes back. The decision raises RollbackRefused.

    It refuses where a route changed again since, or where what comes back would now conflict.
    """

    def decide(_connections: list[Connection], routes: list[Route]) -> RouteChange:
        current = {r.id: r for r in routes}
        if any(current.get(r.id) != r for r in after):
            raise RollbackRefused("A route was changed again since.", fix="Deploy what you want instead.")
        remove = frozenset(r.id for r in after) - frozenset(r.id for r in before)
        back = {r.id: r for r in before}
        rest = [back.get(r.id, r) for r in routes if r.id not in remove]
        for route in before:
            rival = next((r for r in rest if r.id != route.id and _both_take(r, route)), None)
            if rival is not None:
                raise RollbackRefused(
                    f"Route '{route.id}' would conflict with '{rival.id}', which came later.",
                    fix=f"Disable it first: postroom route disable {rival.id}",
                )
        return RouteChange(put=tuple(before), action="rollback", by=by, remove=remove)

    return decide


def _both_take(a: Route, b: Route) -> bool:
    alive = a.enabled and b.enabled and a.connection_id == b.connection_id and a.fallback == b.fallback
    return alive and (a.fallback or overlap(a.scope, b.scope))
