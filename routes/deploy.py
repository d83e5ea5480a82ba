"""Deciding a change of routes. Each decision runs inside the ledger's writing transaction, on what is true there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from channels.errors import PostroomError
from routes.blockers import names
from routes.change import Decide, RouteChange
from routes.connection import Connection
from routes.preflight import Facts, Preflight, Proposal, preflight
from routes.route import Route

FactsOf = Callable[[list[Connection], list[Route]], Facts]

CURABLE = frozenset({"route_conflict", "second_fallback"})
"""Blockers that disabling the conflicting routes takes away."""


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
        found = preflight(_proposal_of(find_route(route_id, routes)), facts_of(connections, routes))
        return _go_live("enable", found, fingerprint, disable_conflicting, by)

    return decide


def decide_disable(route_id: str, by: str = "owner") -> Decide:
    """Take a route out of service. The decision raises RouteUnknown."""

    def decide(_connections: list[Connection], routes: list[Route]) -> RouteChange:
        route = replace(find_route(route_id, routes), enabled=False)
        return RouteChange(put=(route,), action=f"disable {route_id}", by=by)

    return decide


def _proposal_of(route: Route) -> Proposal:
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


def find_route(route_id: str, routes: Sequence[Route]) -> Route:
    """The route of that id. Raises RouteUnknown."""
    for route in routes:
        if route.id == route_id:
            return route
    known = names([r.id for r in routes]) or "none yet"
    raise RouteUnknown(f"There is no route '{route_id}'.", fix=f"Known routes: {known}.")
