"""Connections: what each is and whether it works, a guided form per channel, secrets that are only ever written."""

from __future__ import annotations

import json

from aiohttp import web
from pydantic import JsonValue

from channels.adapter import Channel
from channels.errors import PostroomError
from channels.registry import load, names
from gateway.checks import check_connection
from gateway.connecting import make_connection
from gateway.console.stage import PERSON, Stage
from gateway.ledger.errors import NotFound
from routes.connection import Connection


class SecretMissing(PostroomError):
    """A secret that the channel needs was not given."""

    code = "secret_missing"


class Connections:
    """The page and its forms."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def show(self, request: web.Request) -> web.Response:
        """Every connection, and the way to another one."""
        told = (await self._stage.use(request[PERSON], "channel_connection_list", {}))["connections"]
        rows = {c.id: c for c in await self._stage.ledger.connections()}
        return self._stage.page(
            request,
            "connections.html",
            title="Connections",
            told=told,
            rows=rows,
            channels=[load(n) for n in names()],
            hook=self._hook,
        )

    async def guide(self, request: web.Request) -> web.Response:
        """The form for one channel, or for a connection that is there: what to click, what to paste."""
        channel = load(request.match_info["channel"])
        return self._guide(request, channel, await self._find(request.query.get("id", "")))

    async def save(self, request: web.Request) -> web.Response:
        """Add a connection, or change one; a secret left empty stays as it is."""
        form, person, channel = await request.post(), request[PERSON], load(request.match_info["channel"])
        connection_id = str(form.get("id", "")).strip()
        before = await self._find(connection_id)
        settings: dict[str, JsonValue] = {}
        for name, field in channel.settings.model_fields.items():
            value = str(form.get(f"setting.{name}", "")).strip()
            if value:
                settings[field.alias or name] = value
        given = {s.name: str(form.get(f"secret.{s.name}", "")).strip() for s in channel.secrets}
        fresh = {name: value for name, value in given.items() if value}
        kept = set(() if before is None else before.secret_names)
        for secret in channel.secrets:
            if secret.required and secret.name not in fresh and secret.name not in kept:
                raise SecretMissing(f"The {secret.label} is missing.", fix="Paste it into its field.")
        row = make_connection(
            channel,
            connection_id,
            settings,
            frozenset(fresh) | kept,
            before=before,
            label=str(form.get("label", "")).strip(),
            owners=str(form.get("owners", "")).replace(",", " ").split(),
            enabled=bool(form.get("enabled")),
        )
        await self._stage.ledger.put_connection(row, {n: self._stage.vault.seal(v) for n, v in fresh.items()})
        await self._stage.note(person, "save connection", row.id, _about(before), _about(row, sorted(fresh)))
        await self._stage.reload()
        return self._stage.back(request, "connections", f"Saved '{row.id}'. Check it below.")

    async def check(self, request: web.Request) -> web.Response:
        """Ask the provider, and show what it says."""
        connection = await self._find(str((await request.post()).get("id", "")))
        if connection is None:
            raise NotFound("There is no such connection.", fix="Choose one from the list.")
        report = await check_connection(connection, self._stage.ledger, self._stage.settings)
        return self._stage.page(request, "report.html", title=f"Check of {connection.id}", report=report)

    async def reopen(self, request: web.Request) -> web.Response:
        """Open a connection again: a Telegram webhook is set, polling and sockets start afresh."""
        connection_id, person = str((await request.post()).get("id", "")), request[PERSON]
        await self._stage.connections.forget(connection_id)
        await self._stage.reload()
        await self._stage.note(person, "reopen connection", connection_id)
        return self._stage.back(request, "connections", f"'{connection_id}' was opened again. Check it now.")

    async def remove(self, request: web.Request) -> web.Response:
        """Take a connection away with its secrets and routes; what was said stays."""
        form, person = await request.post(), request[PERSON]
        connection_id = str(form.get("id", ""))
        before = await self._find(connection_id)
        await self._stage.ledger.remove_connection(connection_id)
        await self._stage.note(person, "remove connection", connection_id, _about(before))
        await self._stage.reload()
        return self._stage.back(request, "connections", f"Removed '{connection_id}'.")

    def _guide(self, request: web.Request, channel: Channel, row: Connection | None) -> web.Response:
        return self._stage.page(
            request,
            "guide.html",
            title=f"{channel.label} connection",
            channel=channel,
            row=row,
            fields=[(name, field.alias or name, field) for name, field in channel.settings.model_fields.items()],
            hook="" if row is None else self._hook(row),
        )

    def _hook(self, row: Connection) -> str:
        return self._stage.settings.hook_url(row.id, row.hook_secret)

    async def _find(self, connection_id: str) -> Connection | None:
        return next((c for c in await self._stage.ledger.connections() if c.id == connection_id), None)


def _about(row: Connection | None, fresh: list[str] | None = None) -> str:
    """A connection for the audit log: of secrets only which were written."""
    if row is None:
        return ""
    told = {
        "channel": row.channel,
        "label": row.label,
        "enabled": row.enabled,
        "settings": row.settings,
        "owners": row.owners,
    }
    return json.dumps({**told, **({"secrets written": fresh} if fresh else {})})
