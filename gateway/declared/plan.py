"""What applying a file would change, and what stands in the way. Pure: what is comes in, the change comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue
from pydantic_core import to_json

from channels.errors import PostroomError
from gateway.declared.file import Declared, DeclaredRoute
from routes.connection import Connection
from routes.facts import Facts, Finding, Proposal
from routes.preflight import Preflight, preflight
from routes.route import Route, describe_route, route_to_json

FactsOf = Callable[[str, list[Connection], list[Route]], Facts]
"""The facts a preflight reads for one agent, over the connections and routes as they would be."""

SHOWN = ("connectionId", "agentId", "scope", "access")
"""What is always told of a new route; the rest where it is not as by default."""


class ApplyRefused(PostroomError):
    """Something stands in the way. `plan` has all of it."""

    code = "apply_refused"

    def __init__(self, plan: Plan) -> None:
        first = plan.blockers[0]
        more = f" ({len(plan.blockers) - 1} more)" if len(plan.blockers) > 1 else ""
        super().__init__(f"Nothing was changed. {first.message}{more}", fix=first.fix)
        self.plan = plan


class PlanStale(PostroomError):
    """What was shown is no longer what would be done."""

    code = "plan_stale"


@dataclass(frozen=True, slots=True)
class Step:
    """One difference: what is done to what, and in which fields, as (field, before, after)."""

    action: str
    what: str
    fields: tuple[tuple[str, JsonValue, JsonValue], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference between a file and what is. `connections` and `routes` are to be written as they are here."""

    steps: tuple[Step, ...]
    connections: tuple[Connection, ...]
    routes: tuple[Route, ...]
    blockers: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    fingerprint: str


def plan(
    declared: Declared,
    wanted: Sequence[Connection],
    fresh_secrets: Mapping[str, frozenset[str]],
    connections: Sequence[Connection],
    routes: Sequence[Route],
    facts_of: FactsOf,
) -> Plan:
    """Compare. `wanted` are the file's connections as rows; `fresh_secrets` names those whose value differs.

    Live routes of a connection that the file names, and that it does not list, are disabled.
    """
    now = {c.id: c for c in connections}
    changed = tuple(c for c in wanted if _differs(c, now.get(c.id)) or fresh_secrets.get(c.id))
    after = {**now, **{c.id: c for c in changed}}
    listed = _routes(declared.routes, routes)
    gone = [
        replace(r, enabled=False)
        for r in routes
        if r.enabled and r.connection_id in declared.connections and r.id not in {w.id for w in listed}
    ]
    before = {r.id: r for r in routes}
    put = tuple(r for r in [*gone, *listed] if before.get(r.id) != r)
    final = {**before, **{r.id: r for r in put}}
    found = [_check(r, facts_of(r.agent_id, [*after.values()], [*final.values()])) for r in put if r.enabled]
    steps = (
        *(_connection_step(c, now.get(c.id), fresh_secrets.get(c.id, frozenset())) for c in changed),
        *(_route_step(r, before.get(r.id)) for r in put),
    )
    read = [
        [[c.id, c.channel, _about(c), sorted(fresh_secrets.get(c.id, ()))] for c in changed],
        [route_to_json(r) for r in put],
        [route_to_json(before[r.id]) for r in put if r.id in before],
        [p.fingerprint for p in found],
    ]
    return Plan(
        steps=steps,
        connections=changed,
        routes=put,
        blockers=tuple(b for p in found for b in p.blockers),
        warnings=tuple(w for p in found for w in p.warnings),
        fingerprint=hashlib.sha256(to_json(read)).hexdigest()[:32],
    )


def _routes(declared: Sequence[DeclaredRoute], routes: Sequence[Route]) -> list[Route]:
    """The listed routes with their ids: given, found by what they are about, or fresh."""
    taken = {r.id for r in routes} | {d.id for d in declared if d.id}
    listed: list[Route] = []
    for each in declared:
        scope = each.scope.to_scope()
        about = (each.connection, each.agent, scope)
        same = [
            r
            for r in routes
            if (r.connection_id, r.agent_id, r.scope) == about and r.id not in {d.id for d in declared}
        ]
        known = min(same, key=lambda r: (not r.enabled, r.id)).id if same else None
        route_id = each.id or known or _fresh(f"{each.connection}-{each.agent}", taken)
        taken.add(route_id)
        listed.append(
            Route(route_id, each.connection, each.agent, scope, each.to_access(), each.fallback, each.enabled)
        )
    return listed


def _fresh(base: str, taken: set[str]) -> str:
    return next(name for n in range(len(taken) + 1) if (name := f"{base}-{n + 1}" if n else base) not in taken)


def _check(route: Route, facts: Facts) -> Preflight:
    return preflight(
        Proposal(route.connection_id, route.agent_id, route.scope, route.access, route.fallback, route_id=route.id),
        facts,
    )


def _differs(wanted: Connection, now: Connection | None) -> bool:
    return now is None or bool(_fields(_about(now), _about(wanted)))


def _about(connection: Connection) -> dict[str, JsonValue]:
    """What a file can say of a connection; its status is what checks have seen."""
    return {
        "label": connection.label,
        "enabled": connection.enabled,
        "owners": [*connection.owners],
        **{f"settings.{name}": value for name, value in connection.settings.items()},
    }


def _fields(
    before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]
) -> tuple[tuple[str, JsonValue, JsonValue], ...]:
    names = dict.fromkeys([*before, *after])
    return tuple((n, before.get(n), after.get(n)) for n in names if before.get(n) != after.get(n))


def _connection_step(wanted: Connection, now: Connection | None, secrets: frozenset[str]) -> Step:
    what = f"connection {wanted.id} ({wanted.channel})"
    new: tuple[tuple[str, JsonValue, JsonValue], ...] = tuple((f"secret {s}", None, "set") for s in sorted(secrets))
    if now is None:
        return Step("add", what, (*_fields({}, {k: v for k, v in _about(wanted).items() if v}), *new))
    return Step("change", what, (*_fields(_about(now), _about(wanted)), *new))


def _route_step(route: Route, before: Route | None) -> Step:
    what = f"route {route.id}"
    told = {k: v for k, v in describe_route(route).items() if k != "id"}
    if before is None:
        plain = describe_route(Route(route.id, route.connection_id, route.agent_id))
        shown = {k: v for k, v in told.items() if v != plain[k] or k in SHOWN}
        return Step("add", what, _fields({}, shown))
    action = "disable" if before.enabled and not route.enabled else "change"
    return Step(action, what, _fields({k: v for k, v in describe_route(before).items() if k != "id"}, told))
