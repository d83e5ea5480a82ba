"""The tools that put agents live and take routes down, each under the same preflight."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from pydantic import Field

from builder_skill.desk import Change, Desk
from builder_skill.rehearsal import Rehearsal
from builder_skill.tools.agent_rehearse import rehearsed
from builder_skill.tools.route_look import (
    FindingLine,
    NoInput,
    ProposalInput,
    RouteLine,
    channels_of,
    finding_line,
    route_line,
)
from builder_skill.tools.tool import BuilderTool, Shape
from builder_skill.workspace.kept import keep_deployed
from channels.errors import PostroomError
from routes.blockers import names
from routes.deploy import CURABLE, DeployRefused, RouteUnknown
from routes.preflight import Preflight
from routes.route import Route, describe_route


class RehearsalFailed(PostroomError):
    """A case failed, or there are none. `rehearsal` has all of them."""

    code = "rehearsal_failed"

    def __init__(self, agent_id: str, rehearsal: Rehearsal) -> None:
        failed = [f"{c.name} ({'; '.join(c.reasons)})" for c in rehearsal.cases if not c.passed]
        what = f"failed: {names(failed)}" if failed else "has no cases"
        super().__init__(
            f"Nothing was deployed: the rehearsal of '{agent_id}' {what}.",
            fix="Put it right, or write cases into skills/NAME/benchmarks.json; look with agent_rehearse.",
        )
        self.rehearsal = rehearsal


class DeployInput(ProposalInput):
    """What to put live, and on which conditions."""

    fingerprint: str | None = Field(default=None, description="of the preflight that was looked at; refused if stale")
    disable_conflicting_routes: bool = Field(
        default=False, description="only when the user has said that those routes may be disabled"
    )
    require_rehearsal: bool = Field(default=False, description="only if every benchmark case passes")
    dry_run: bool = Field(default=False, description="check everything and write nothing")


class Deployed(Shape):
    """What is live now; `number` is null for a dry run."""

    route: RouteLine
    disabled: tuple[str, ...]
    warnings: tuple[FindingLine, ...]
    number: int | None
    live: bool


class RouteId(Shape):
    """Which route."""

    route_id: str


class Changed(Shape):
    """What a change of routes left."""

    number: int
    routes: tuple[RouteLine, ...]
    removed: tuple[str, ...]


async def _checked(desk: Desk, given: DeployInput) -> Preflight:
    """The preflight of a deploy that may go on. Raises DeployRefused."""
    found = await desk.deploys.check(given.to_proposal())
    left = [b for b in found.blockers if not (given.disable_conflicting_routes and b.code in CURABLE)]
    if left:
        raise DeployRefused(replace(found, blockers=tuple(left)))
    return found


async def _deploy(desk: Desk, given: DeployInput) -> Deployed:
    found, channels = await _checked(desk, given), await channels_of(desk)
    fingerprint = given.fingerprint
    if given.require_rehearsal:
        rehearsal = await rehearsed(desk, given.agent_id, channels[given.connection_id])
        if not rehearsal.passed:
            raise RehearsalFailed(given.agent_id, rehearsal)
        # What was rehearsed is what goes live: an edit meanwhile makes the fingerprint stale.
        fingerprint = fingerprint or found.fingerprint
    warnings = tuple(finding_line(w) for w in found.warnings)
    if given.dry_run:
        disabled = tuple(r.id for r in found.conflicts)
        return Deployed(
            route=route_line(found.route, channels), disabled=disabled, warnings=warnings, number=None, live=False
        )
    change = await desk.deploys.deploy(
        given.to_proposal(), fingerprint=fingerprint, disable_conflicting=given.disable_conflicting_routes
    )
    await asyncio.to_thread(_keep, desk, given.agent_id)
    live = next(r for r in change.after if r.enabled)
    return Deployed(
        route=route_line(live, channels),
        disabled=tuple(r.id for r in change.after if not r.enabled),
        warnings=warnings,
        number=change.number,
        live=True,
    )


def _keep(desk: Desk, agent_id: str) -> None:
    # The route is live already: that its copy could not be kept must not look like a failed deploy.
    with suppress(PostroomError):
        keep_deployed(desk, desk.registry.get(agent_id))


async def _preview_deploy(desk: Desk, given: DeployInput) -> str:
    found = await _checked(desk, given)
    if given.dry_run:
        return "Check only; nothing is written."
    lines = [f"Put live: {_told(found.route)}"]
    if found.replaces is not None:
        lines.append(f"It replaces: {_told(found.replaces)}")
    lines += [f"It disables: {_told(route)}" for route in found.conflicts]
    lines += [f"Warning ({w.code}): {w.message}" for w in found.warnings]
    return "\n".join(lines)


def _told(route: Route) -> str:
    told = describe_route(route)
    return (
        f"{route.id}: agent {route.agent_id} on {route.connection_id}, scope {told['scope']}, access {told['access']}"
    )


async def _disable(desk: Desk, given: RouteId) -> Changed:
    return await _changed(desk, await desk.deploys.disable(given.route_id))


async def _preview_disable(desk: Desk, given: RouteId) -> str:
    for route in await desk.deploys.routes():
        if route.id == given.route_id:
            return f"Disable: {_told(route)}"
    known = names([r.id for r in await desk.deploys.routes()]) or "none yet"
    raise RouteUnknown(f"There is no route '{given.route_id}'.", fix=f"Known routes: {known}.")


async def _rollback(desk: Desk, _input: NoInput) -> Changed:
    return await _changed(desk, await desk.deploys.rollback())


async def _preview_rollback(desk: Desk, _input: NoInput) -> str:
    back = await desk.deploys.what_rolls_back()
    return "\n".join(["Undo the last change of routes:", *(f"Back: {_told(route)}" for route in back)])


async def _changed(desk: Desk, change: Change) -> Changed:
    channels = await channels_of(desk)
    kept = {route.id for route in change.after}
    return Changed(
        number=change.number,
        routes=tuple(route_line(r, channels) for r in change.after),
        removed=tuple(r.id for r in change.before if r.id not in kept),
    )


AGENT_DEPLOY_CHANNEL = BuilderTool(
    name="agent_deploy_channel",
    description="Put an agent live on a connection, if the same preflight passes at that moment.",
    effect="destructive",
    input=DeployInput,
    output=Deployed,
    run=_deploy,
    preview=_preview_deploy,
)


CHANNEL_ROUTE_DISABLE = BuilderTool(
    name="channel_route_disable",
    description="Take a route out of service.",
    effect="destructive",
    input=RouteId,
    output=Changed,
    run=_disable,
    preview=_preview_disable,
)


CHANNEL_ROUTE_ROLLBACK = BuilderTool(
    name="channel_route_rollback",
    description="Undo the last change of routes.",
    effect="destructive",
    input=NoInput,
    output=Changed,
    run=_rollback,
    preview=_preview_rollback,
)
