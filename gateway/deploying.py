"""Where routes meet the rest: the facts a preflight reads, and changes written through the ledger."""

from __future__ import annotations

from collections.abc import Mapping

from agents_runtime.registry import Registry
from agents_runtime.tools.grants import open_to, resolve_grants
from builder_skill.system_skill import AGENT_ID
from channels.errors import PostroomError
from gateway.builder import KNOWN
from gateway.connecting import is_by_webhook
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Deployment
from gateway.settings import Settings
from routes.connection import Connection
from routes.deploy import decide_deploy, decide_disable, decide_enable
from routes.preflight import AgentFacts, ConnectionFacts, Facts, Preflight, Proposal, preflight
from routes.rollback import decide_rollback, to_undo
from routes.route import Route


class Deployer:
    """Checks and changes routes on one ledger."""

    def __init__(self, ledger: Ledger, registry: Registry, settings: Settings, by: str = "owner") -> None:
        """`by` is who acts, for the history."""
        self._ledger = ledger
        self._registry = registry
        self._settings = settings
        self._by = by

    async def connections(self) -> list[Connection]:
        """All, by id."""
        return await self._ledger.connections()

    async def routes(self) -> list[Route]:
        """All, by id."""
        return await self._ledger.routes()

    async def check(self, proposal: Proposal) -> Preflight:
        """What stands in the way of a proposal now. Writes nothing."""
        connections, routes = await self._ledger.connections(), await self._ledger.routes()
        return preflight(proposal, self.facts(proposal.agent_id, connections, routes))

    async def deploy(
        self, proposal: Proposal, *, fingerprint: str | None = None, disable_conflicting: bool = False
    ) -> Deployment:
        """Put a route live. Raises DeployRefused or PreflightStale, and then nothing is written."""
        return await self._ledger.change_routes(
            decide_deploy(
                proposal,
                lambda connections, routes: self.facts(proposal.agent_id, connections, routes),
                fingerprint=fingerprint,
                disable_conflicting=disable_conflicting,
                by=self._by,
            )
        )

    async def disable(self, route_id: str) -> Deployment:
        """Take a route out of service. Raises RouteUnknown."""
        return await self._ledger.change_routes(decide_disable(route_id, self._by))

    async def enable(self, route_id: str) -> Deployment:
        """Put a disabled route back in service. Raises RouteUnknown or DeployRefused."""
        return await self._ledger.change_routes(
            decide_enable(
                route_id, lambda connections, routes: self._facts_of(route_id, connections, routes), by=self._by
            )
        )

    async def rollback(self) -> Deployment:
        """Undo the last change of routes. Raises RollbackRefused."""
        return await self._ledger.change_routes(decide_rollback(await self._ledger.deployments(100), self._by))

    async def what_rolls_back(self) -> tuple[Route, ...]:
        """The routes that a rollback would bring back, as they were. Raises RollbackRefused."""
        return to_undo(await self._ledger.deployments(100)).before

    def facts(self, agent_id: str, connections: list[Connection], routes: list[Route]) -> Facts:
        """What a preflight for an agent reads, over these connections and routes."""
        return Facts(
            connections=connections,
            routes=routes,
            agents=self._agents(agent_id),
            more={c.id: self._about(c) for c in connections},
        )

    def _facts_of(self, route_id: str, connections: list[Connection], routes: list[Route]) -> Facts:
        agent_id = next((r.agent_id for r in routes if r.id == route_id), "")
        return self.facts(agent_id, connections, routes)

    def _about(self, connection: Connection) -> ConnectionFacts:
        return ConnectionFacts(
            public_url=bool(self._settings.public_url),
            needs_public_url=is_by_webhook(connection),
            privacy_mode=connection.privacy_mode,
        )

    def _agents(self, wanted: str) -> Mapping[str, AgentFacts]:
        """Every agent by its manifest, and the wanted one as it would really be loaded."""
        facts = {e.id: AgentFacts(e.id, e.status or "disabled", problem=e.problem) for e in self._registry.entries()}
        if wanted in facts:
            facts[wanted] = self._loaded(wanted)
        return facts

    def _loaded(self, agent_id: str) -> AgentFacts:
        try:
            package = self._registry.get(agent_id)
        except PostroomError as error:
            return AgentFacts(agent_id, "disabled", problem=str(error))
        reachable = open_to(package.id, package.source, KNOWN)
        grants = resolve_grants(package.manifest.allowed_tools, reachable)
        return AgentFacts(
            agent_id,
            package.manifest.status,
            package.revision,
            missing_tools=grants.missing,
            owner_only=package.source == "bundled" and package.id == AGENT_ID,
        )
