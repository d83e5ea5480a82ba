"""The console's routes: every page and every write in one list, with who may do it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiohttp import web

from gateway.console.guard import COOKIE, Guard, Handler
from gateway.console.keys import SESSION_SECONDS, NotLetIn
from gateway.console.pages.agents import Agents
from gateway.console.pages.approvals import Approvals
from gateway.console.pages.connections import Connections
from gateway.console.pages.conversations import Conversations
from gateway.console.pages.health import Health
from gateway.console.pages.letters import Letters
from gateway.console.pages.now import Now
from gateway.console.pages.phones import Phones
from gateway.console.pages.routes import Routes
from gateway.console.stage import BASE, HERE, Stage

BEAT = 1.0
"""Seconds between looks whether something changed, while somebody watches."""

QUIET = 15.0
"""Seconds without news after which a line is sent all the same, so that proxies keep the stream open."""


class Console:
    """Everything under /console."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        stage, guard = self._stage, Guard(self._stage)
        now, talks, agents, routes = Now(stage), Conversations(stage), Agents(stage), Routes(stage)
        connections, phones, letters = Connections(stage), Phones(stage), Letters(stage)
        approvals, health = Approvals(stage), Health(stage)

        async def home(_request: web.Request) -> web.Response:
            return web.Response(status=303, headers={"Location": f"{BASE}/now"})

        app.router.add_get(f"{BASE}/login", guard.open(self._login_page))
        app.router.add_get(f"{BASE}/in/{{token}}", guard.open(self._offer))
        app.router.add_post(f"{BASE}/in/{{token}}", guard.open(self._let_in))
        app.router.add_static(f"{BASE}/static", HERE / "static")
        pages: dict[str, Handler] = {
            "": home,
            "/now": now.show,
            "/events": self._events,
            "/conversations": talks.index,
            "/conversation": talks.show,
            "/run": talks.run,
            "/explain": talks.explain,
            "/agents": agents.index,
            "/agents/{id}": agents.show,
            "/routes": routes.show,
            "/connections": connections.show,
            "/connections/add/{channel}": connections.guide,
            "/phones": phones.show,
            "/letters": letters.show,
            "/letters/payload": letters.payload,
            "/approvals": approvals.show,
            "/health": health.show,
        }
        for path, handler in pages.items():
            app.router.add_get(f"{BASE}{path}", guard.reading(handler))
        operations: dict[str, Handler] = {
            "/conversation/step-in": talks.step_in,
            "/conversation/hand-back": talks.hand_back,
            "/conversation/say": talks.say,
            "/phones/{channel}": phones.say,
            "/letters": letters.act,
            "/routes/explain": routes.explain,
            "/connections/check": connections.check,
            "/connections/reopen": connections.reopen,
            "/agents/{id}/trial": agents.say,
            "/agents/{id}/rehearse": agents.rehearse,
        }
        for path, handler in operations.items():
            app.router.add_post(f"{BASE}{path}", guard.writing(handler, "operator"))
        changes: dict[str, Handler] = {
            "/agents": agents.create,
            "/agents/{id}/check": agents.check,
            "/agents/{id}/save": agents.save,
            "/agents/{id}/act": agents.act,
            "/routes/preflight": routes.preflight,
            "/routes/deploy": routes.deploy,
            "/routes/act": routes.act,
            "/connections/add/{channel}": connections.save,
            "/connections/remove": connections.remove,
            "/approvals": approvals.decide,
        }
        for path, handler in changes.items():
            app.router.add_post(f"{BASE}{path}", guard.writing(handler, "owner"))
        app.router.add_post(f"{BASE}/logout", guard.writing(self._logout, "viewer"))
        app.router.add_get("/", home)

    async def _login_page(self, request: web.Request) -> web.Response:
        return self._stage.page(request, "login.html", title="Log in", token="", problem="")

    async def _offer(self, request: web.Request) -> web.Response:
        """A link that is looked at is not used up: only the button uses it, so that no preview can."""
        return self._stage.page(request, "login.html", title="Log in", token=request.match_info["token"], problem="")

    async def _let_in(self, request: web.Request) -> web.Response:
        try:
            person = self._stage.keys.let_in(request.match_info["token"])
        except NotLetIn as error:
            return self._stage.page(request, "login.html", status=403, title="Log in", token="", problem=str(error))
        await self._stage.note(person, "log in", "console", after=person.role)
        response = web.Response(status=303, headers={"Location": f"{BASE}/now"})
        secure = request.secure or self._stage.settings.public_url.startswith("https://")
        response.set_cookie(
            COOKIE,
            self._stage.keys.seal(person),
            path=BASE,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="Strict",
            secure=secure and request.host.partition(":")[0] not in {"127.0.0.1", "localhost"},
        )
        return response

    async def _logout(self, _request: web.Request) -> web.Response:
        response = web.Response(status=303, headers={"Location": f"{BASE}/login"})
        response.del_cookie(COOKIE, path=BASE)
        return response

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """A line whenever something changed; the page asks for what it shows."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        before: object = None
        quiet = 0.0
        with suppress(ConnectionResetError):
            while not self._stage.closing.is_set():
                ledger = self._stage.ledger
                newest = [
                    (c.conversation.key, c.messages, c.last_at, c.waiting) for c in await ledger.conversations(20)
                ]
                waiting = [a.state for a in await ledger.approvals(5)]
                seen: object = (newest, await ledger.depths(), waiting, await ledger.config_version())
                quiet += BEAT
                if seen != before or quiet > QUIET:
                    await response.write(b"event: stir\ndata: -\n\n" if seen != before else b": still here\n\n")
                    before, quiet = seen, 0.0
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stage.closing.wait(), BEAT)
        return response
