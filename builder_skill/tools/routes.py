"""The tools that look at connections and routes, and put agents live."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict, replace

from pydantic import Field, JsonValue
from ulid import ULID

from agents_runtime.package import AgentPackage
from builder_skill.desk import Change, Desk
from builder_skill.rehearsal import Rehearsal, rehearse
from builder_skill.tools.tool import BuilderTool, Shape
from builder_skill.workspace.kept import keep_deployed
from channels.errors import PostroomError
from channels.message import ChatKind, Command, Conversation, InboundMessage, Sender
from channels.registry import load
from routes.access import admit
from routes.blockers import names
from routes.connection import Connection, ConnectionStatus
from routes.deploy import CURABLE, DeployRefused, RouteUnknown
from routes.preflight import Finding, Preflight, Proposal
from routes.resolve import RouteTable
from routes.route import Access, AccessPolicy, Route, StrangerAnswer, describe_route
from routes.scope import ScopeSpec

ANSWER_SHOWN = 500
"""Characters of an answer that a rehearsal's result shows."""


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


class NoInput(Shape):
    """No arguments."""


class ConnectionLine(Shape):
    """One connection as safe metadata: each secret only as whether it is there, such as `hasBotToken`."""

    id: str
    channel: str
    label: str
    enabled: bool
    status: ConnectionStatus
    detail: str
    secrets: dict[str, bool]
    owners: int = Field(description="how many people count as its owner")


class ConnectionLines(Shape):
    """Every connection, by id."""

    connections: tuple[ConnectionLine, ...]


class RouteLine(Shape):
    """One route."""

    id: str
    name: str
    enabled: bool
    channel: str | None
    connection_id: str
    agent_id: str
    scope: ScopeSpec
    access: AccessPolicy
    allow: tuple[str, ...]
    mention_required: bool
    stranger: StrangerAnswer
    fallback: bool


class RouteLines(Shape):
    """Every route, by id."""

    routes: tuple[RouteLine, ...]


class ProposalInput(Shape):
    """A route that is wanted live."""

    connection_id: str
    agent_id: str
    scope: ScopeSpec = Field(default=ScopeSpec(), description="which messages; all of the connection without it")
    channel: str = Field(default="", description="refused if the connection is on another channel")
    access: AccessPolicy = "open"
    allow: tuple[str, ...] = Field(default=(), description="sender ids let in, for allowlist and pairing")
    mention_required: bool = Field(default=True, description="in groups, answer only when spoken to")
    stranger: StrangerAnswer = "polite"
    fallback: bool = Field(default=False, description="take what no other route of the connection takes")
    route_id: str = Field(default="", description="replace this route")

    def to_proposal(self) -> Proposal:
        """What it stands for."""
        return Proposal(
            connection_id=self.connection_id,
            agent_id=self.agent_id,
            scope=self.scope.to_scope(),
            access=Access(self.access, frozenset(self.allow), self.mention_required, self.stranger),
            fallback=self.fallback,
            channel=self.channel,
            route_id=self.route_id,
        )


class FindingLine(Shape):
    """One blocker or warning."""

    code: str
    message: str
    fix: str
    routes: tuple[str, ...]
    details: dict[str, JsonValue]


class PreflightAnswer(Shape):
    """Whether it can go live, and what would be written. `conflicts` are the live routes in the way."""

    ok: bool
    route: RouteLine
    replaces: str | None
    blockers: tuple[FindingLine, ...]
    warnings: tuple[FindingLine, ...]
    conflicts: tuple[str, ...]
    available_connections: tuple[str, ...]
    available_agents: tuple[str, ...]
    fingerprint: str


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


class SampleInput(Shape):
    """A message that somebody might write."""

    connection_id: str
    text: str = ""
    chat_kind: ChatKind = "dm"
    chat_id: str = "sample"
    thread_id: str | None = None
    sender_id: str = "sample"
    command: str | None = Field(default=None, description="a slash command's name")
    mentions_bot: bool = False


class Considered(Shape):
    """One route against the message."""

    route_id: str
    verdict: str
    misses: tuple[str, ...]


class Explained(Shape):
    """Who would answer, and why."""

    route_id: str | None
    agent_id: str | None
    answered: bool
    reason: str = Field(description="why not, as a stable code")
    considered: tuple[Considered, ...]
    omitted: int


class RehearseInput(Shape):
    """Which package, and for which channel."""

    id: str
    channel: str = "telegram"


class CaseLine(Shape):
    """How one case went."""

    skill: str
    name: str
    passed: bool
    reasons: tuple[str, ...]
    answer: str
    steps: int
    tokens: int
    seconds: float
    unjudged: bool


class Rehearsed(Shape):
    """All cases; `passed` needs at least one."""

    id: str
    passed: bool
    revision: str
    channel: str
    cases: tuple[CaseLine, ...]


async def _connections(desk: Desk, _input: NoInput) -> ConnectionLines:
    return ConnectionLines(connections=tuple(_connection(c) for c in await desk.deploys.connections()))


def _connection(connection: Connection) -> ConnectionLine:
    known = {secret.name: secret.name in connection.secret_names for secret in load(connection.channel).secrets}
    return ConnectionLine(
        id=connection.id,
        channel=connection.channel,
        label=connection.label,
        enabled=connection.enabled,
        status=connection.status,
        detail=connection.status_detail,
        secrets={f"has{''.join(w.capitalize() for w in n.split('_'))}": there for n, there in known.items()},
        owners=len(connection.owners),
    )


async def _routes(desk: Desk, _input: NoInput) -> RouteLines:
    channels = await _channels(desk)
    return RouteLines(routes=tuple(_route(r, channels) for r in await desk.deploys.routes()))


async def _channels(desk: Desk) -> dict[str, str]:
    return {c.id: c.channel for c in await desk.deploys.connections()}


def _route(route: Route, channels: dict[str, str]) -> RouteLine:
    told = describe_route(route)
    name = f"{route.agent_id} on {route.connection_id}"
    return RouteLine.model_validate({**told, "name": name, "channel": channels.get(route.connection_id)}, by_alias=True)


def _finding(finding: Finding) -> FindingLine:
    return FindingLine(
        code=finding.code, message=finding.message, fix=finding.fix, routes=finding.routes, details=finding.details
    )


async def _preflight(desk: Desk, given: ProposalInput) -> PreflightAnswer:
    found, channels = await desk.deploys.check(given.to_proposal()), await _channels(desk)
    return PreflightAnswer(
        ok=found.ok,
        route=_route(found.route, channels),
        replaces=None if found.replaces is None else found.replaces.id,
        blockers=tuple(_finding(b) for b in found.blockers),
        warnings=tuple(_finding(w) for w in found.warnings),
        conflicts=tuple(r.id for r in found.conflicts),
        available_connections=found.available_connections,
        available_agents=found.available_agents,
        fingerprint=found.fingerprint,
    )


async def _checked(desk: Desk, given: DeployInput) -> Preflight:
    """The preflight of a deploy that may go on. Raises DeployRefused."""
    found = await desk.deploys.check(given.to_proposal())
    left = [b for b in found.blockers if not (given.disable_conflicting_routes and b.code in CURABLE)]
    if left:
        raise DeployRefused(replace(found, blockers=tuple(left)))
    return found


async def _deploy(desk: Desk, given: DeployInput) -> Deployed:
    found, channels = await _checked(desk, given), await _channels(desk)
    fingerprint = given.fingerprint
    if given.require_rehearsal:
        rehearsal = await _rehearsed(desk, given.agent_id, channels[given.connection_id])
        if not rehearsal.passed:
            raise RehearsalFailed(given.agent_id, rehearsal)
        # What was rehearsed is what goes live: an edit meanwhile makes the fingerprint stale.
        fingerprint = fingerprint or found.fingerprint
    warnings = tuple(_finding(w) for w in found.warnings)
    if given.dry_run:
        disabled = tuple(r.id for r in found.conflicts)
        return Deployed(
            route=_route(found.route, channels), disabled=disabled, warnings=warnings, number=None, live=False
        )
    change = await desk.deploys.deploy(
        given.to_proposal(), fingerprint=fingerprint, disable_conflicting=given.disable_conflicting_routes
    )
    await asyncio.to_thread(_keep, desk, given.agent_id)
    live = next(r for r in change.after if r.enabled)
    return Deployed(
        route=_route(live, channels),
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
    channels = await _channels(desk)
    kept = {route.id for route in change.after}
    return Changed(
        number=change.number,
        routes=tuple(_route(r, channels) for r in change.after),
        removed=tuple(r.id for r in change.before if r.id not in kept),
    )


async def _explain(desk: Desk, given: SampleInput) -> Explained:
    connection = next((c for c in await desk.deploys.connections() if c.id == given.connection_id), None)
    if connection is None:
        return _nobody("connection_missing")
    message = InboundMessage(
        id=str(ULID()),
        connection_id=connection.id,
        channel=connection.channel,
        kind="command" if given.command else "message",
        dedupe_keys=(),
        conversation=Conversation(connection.id, given.chat_id, given.thread_id),
        scope=given.chat_kind,
        sender=Sender(given.sender_id),
        text=given.text,
        command=Command(given.command.removeprefix("/").lower()) if given.command else None,
        mentions_bot=given.mentions_bot,
    )
    told = RouteTable(await desk.deploys.routes()).explain(message)
    considered = tuple(Considered(route_id=c.route.id, verdict=c.verdict, misses=c.misses) for c in told.considered)
    route = told.resolution.route
    if route is None:
        return Explained(
            route_id=None,
            agent_id=None,
            answered=False,
            reason=told.resolution.reason,
            considered=considered,
            omitted=told.omitted,
        )
    admission = admit(route, connection, message)
    return Explained(
        route_id=route.id,
        agent_id=route.agent_id,
        answered=admission.allowed,
        reason=admission.reason,
        considered=considered,
        omitted=told.omitted,
    )


def _nobody(reason: str) -> Explained:
    return Explained(route_id=None, agent_id=None, answered=False, reason=reason, considered=(), omitted=0)


async def _rehearse(desk: Desk, given: RehearseInput) -> Rehearsed:
    found = await _rehearsed(desk, given.id, given.channel)
    return Rehearsed(
        id=given.id,
        passed=found.passed,
        revision=found.revision,
        channel=found.channel,
        cases=tuple(CaseLine(**{**asdict(c), "answer": c.answer[:ANSWER_SHOWN]}) for c in found.cases),
    )


async def _rehearsed(desk: Desk, agent_id: str, channel: str) -> Rehearsal:
    package: AgentPackage = await asyncio.to_thread(desk.registry.get, agent_id)
    async with desk.running() as run:
        return await rehearse(package, load(channel), run)


CHANNEL_CONNECTION_LIST = BuilderTool(
    name="channel_connection_list",
    description="List connections as safe metadata: of secrets only whether they are there.",
    effect="read",
    input=NoInput,
    output=ConnectionLines,
    run=_connections,
)
CHANNEL_ROUTE_LIST = BuilderTool(
    name="channel_route_list",
    description="List routes: which agent answers which messages.",
    effect="read",
    input=NoInput,
    output=RouteLines,
    run=_routes,
)
CHANNEL_ROUTE_PREFLIGHT = BuilderTool(
    name="channel_route_preflight",
    description="Check whether an agent can go live on a connection: blockers, warnings, and what is available.",
    effect="read",
    input=ProposalInput,
    output=PreflightAnswer,
    run=_preflight,
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
CHANNEL_EXPLAIN = BuilderTool(
    name="channel_explain",
    description="Say who would answer a sample message, and why.",
    effect="read",
    input=SampleInput,
    output=Explained,
    run=_explain,
)
AGENT_REHEARSE = BuilderTool(
    name="agent_rehearse",
    description="Run an agent's benchmark cases through the real runner and a channel's renderer; nothing is sent.",
    effect="read",
    input=RehearseInput,
    output=Rehearsed,
    run=_rehearse,
)
