"""The tools that look at connections and routes: lists, preflight, and who would answer."""

from __future__ import annotations

from pydantic import Field, JsonValue
from ulid import ULID

from builder_skill.desk import Desk
from builder_skill.tools.tool import BuilderTool, Shape
from channels.message import ChatKind, Command, Conversation, InboundMessage, Sender
from channels.registry import load
from routes.access import admit
from routes.connection import Connection, ConnectionStatus
from routes.preflight import Finding, Proposal
from routes.resolve import RouteTable
from routes.route import Access, AccessPolicy, Route, StrangerAnswer, describe_route
from routes.scope import ScopeSpec


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
    channels = await channels_of(desk)
    return RouteLines(routes=tuple(route_line(r, channels) for r in await desk.deploys.routes()))


async def channels_of(desk: Desk) -> dict[str, str]:
    """The channel of each connection."""
    return {c.id: c.channel for c in await desk.deploys.connections()}


def route_line(route: Route, channels: dict[str, str]) -> RouteLine:
    """A route as the tools show it."""
    told = describe_route(route)
    name = f"{route.agent_id} on {route.connection_id}"
    return RouteLine.model_validate({**told, "name": name, "channel": channels.get(route.connection_id)}, by_alias=True)


def finding_line(finding: Finding) -> FindingLine:
    """A finding as the tools show it."""
    return FindingLine(
        code=finding.code, message=finding.message, fix=finding.fix, routes=finding.routes, details=finding.details
    )


async def _preflight(desk: Desk, given: ProposalInput) -> PreflightAnswer:
    found, channels = await desk.deploys.check(given.to_proposal()), await channels_of(desk)
    return PreflightAnswer(
        ok=found.ok,
        route=route_line(found.route, channels),
        replaces=None if found.replaces is None else found.replaces.id,
        blockers=tuple(finding_line(b) for b in found.blockers),
        warnings=tuple(finding_line(w) for w in found.warnings),
        conflicts=tuple(r.id for r in found.conflicts),
        available_connections=found.available_connections,
        available_agents=found.available_agents,
        fingerprint=found.fingerprint,
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


CHANNEL_EXPLAIN = BuilderTool(
    name="channel_explain",
    description="Say who would answer a sample message, and why.",
    effect="read",
    input=SampleInput,
    output=Explained,
    run=_explain,
)
