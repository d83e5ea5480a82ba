"""Routes: a map of who answers what, a deploy sheet that sends back what it showed, rollback, and a question."""

from __future__ import annotations

import json

from aiohttp import web
from multidict import MultiMapping
from pydantic import JsonValue

from channels.errors import PostroomError
from gateway.console.stage import PERSON, Stage
from gateway.times import iso


class SheetInvalid(PostroomError):
    """The form is not the one that the sheet was shown with."""

    code = "sheet_invalid"


class Routes:
    """The page and its forms."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def show(self, request: web.Request) -> web.Response:
        """The map, and the last changes."""
        routes = (await self._stage.use(request[PERSON], "channel_route_list", {}))["routes"]
        changes = [(iso(d.at), d.by, d.action) for d in await self._stage.ledger.deployments(10)]
        return self._stage.page(
            request,
            "routes.html",
            title="Routes",
            routes=routes,
            changes=changes,
            connections=await self._stage.ledger.connections(),
            agents=[e for e in self._stage.registry.entries() if not e.problem],
            given=request.query,
        )

    async def preflight(self, request: web.Request) -> web.Response:
        """The deploy sheet: what stands in the way, what would be written, and exactly what would be disabled."""
        given = _proposal(await request.post())
        found = await self._stage.use(request[PERSON], "channel_route_preflight", given)
        curable = {"route_conflict", "second_fallback"}
        blockers = found["blockers"]
        codes = {str(b["code"]) for b in blockers if isinstance(b, dict)} if isinstance(blockers, list) else set[str]()
        return self._stage.page(
            request,
            "sheet.html",
            title="Deploy",
            found=found,
            given=json.dumps(given),
            can=codes <= curable,
            conflicting=bool(codes),
        )

    async def deploy(self, request: web.Request) -> web.Response:
        """Put it live, if it still is what the sheet showed."""
        form, person = await request.post(), request[PERSON]
        given = _read(str(form.get("given", "")))
        done = await self._stage.use(
            person,
            "agent_deploy_channel",
            {
                **given,
                "fingerprint": str(form.get("fingerprint", "")),
                "disableConflictingRoutes": bool(form.get("disable")),
                "requireRehearsal": bool(form.get("rehearsal")),
            },
        )
        await self._stage.note(person, "deploy", str(given.get("agentId")), after=json.dumps(done))
        await self._stage.reload()
        return self._stage.back(request, "routes", f"{given.get('agentId')} is live on {given.get('connectionId')}.")

    async def act(self, request: web.Request) -> web.Response:
        """Disable a route, or undo the last change."""
        form, person = await request.post(), request[PERSON]
        if form.get("act") == "rollback":
            done = await self._stage.use(person, "channel_route_rollback", {})
            said = "The last change is undone."
        else:
            route_id = str(form.get("route", ""))
            done = await self._stage.use(person, "channel_route_disable", {"routeId": route_id})
            said = f"{route_id} is disabled."
        await self._stage.note(person, str(form.get("act")), str(form.get("route", "routes")), after=json.dumps(done))
        await self._stage.reload()
        return self._stage.back(request, "routes", said)

    async def explain(self, request: web.Request) -> web.Response:
        """Who would answer a sample message."""
        form = await request.post()
        sample: dict[str, JsonValue] = {
            name: str(form[name])
            for name in ("connectionId", "chatKind", "chatId", "senderId", "command")
            if form.get(name)
        }
        told = await self._stage.use(
            request[PERSON], "channel_explain", {**sample, "mentionsBot": bool(form.get("mention"))}
        )
        return self._stage.page(request, "who.html", title="Who would answer?", told=told)


def _proposal(form: MultiMapping[object]) -> dict[str, JsonValue]:
    """A form as the arguments of channel_route_preflight."""
    scope: dict[str, JsonValue] = {"kind": str(form.get("kind", "any"))}
    for name in ("chats", "senders", "commands"):
        values: list[JsonValue] = [*str(form.get(name, "")).replace(",", " ").split()]
        if values:
            scope[name] = values
    return {
        "connectionId": str(form.get("connectionId", "")),
        "agentId": str(form.get("agentId", "")),
        "scope": scope,
        "access": str(form.get("access", "open")),
        "allow": [*str(form.get("allow", "")).replace(",", " ").split()],
        "mentionRequired": not form.get("noMention"),
        "fallback": bool(form.get("fallback")),
    }


def _read(given: str) -> dict[str, JsonValue]:
    """What the sheet was shown for, as it went along in the form. Raises SheetInvalid."""
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise SheetInvalid("This form is not one that was shown here.", fix="Check the route again.")
    return value
