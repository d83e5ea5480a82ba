"""Applying a file: planned again inside the writing transaction, so that what was shown is what is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from channels.adapter import Channel
from channels.registry import load
from gateway.connecting import ConnectionInvalid, make_connection
from gateway.declared.file import Declared, DeclaredConnection, FileInvalid, SecretRef, declared_route
from gateway.declared.plan import ApplyRefused, FactsOf, Plan, PlanStale, plan
from gateway.ledger.protocol import Ledger
from gateway.vault import Vault
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Route


@dataclass(frozen=True, slots=True)
class Wanted:
    """The file's connections as rows, and the values of their secrets that the vault does not have yet."""

    connections: tuple[Connection, ...]
    fresh: Mapping[str, Mapping[str, str]]

    @property
    def names(self) -> dict[str, frozenset[str]]:
        """The names of the fresh secrets, by connection."""
        return {connection_id: frozenset(values) for connection_id, values in self.fresh.items()}


async def read_wanted(declared: Declared, path: Path, ledger: Ledger, vault: Vault) -> Wanted:
    """Read what the file refers to. Raises FileInvalid, ConnectionInvalid or UnknownChannel."""
    now = {c.id: c for c in await ledger.connections()}
    rows: list[Connection] = []
    fresh: dict[str, Mapping[str, str]] = {}
    for connection_id, each in declared.connections.items():
        channel = load(each.channel)
        before = now.get(connection_id)
        values = _secrets(channel, connection_id, each, before, path)
        kept = {} if before is None else vault.open_all(await ledger.secrets(connection_id))
        fresh[connection_id] = {name: value for name, value in values.items() if kept.get(name) != value}
        names = frozenset(values) | {n for n, ref in each.secrets.items() if ref.vault}
        try:
            row = make_connection(
                channel,
                connection_id,
                each.settings,
                names,
                before=before,
                label=each.label,
                owners=each.owners,
                enabled=each.enabled,
            )
        except ConnectionInvalid as error:
            raise FileInvalid(f"connection {connection_id}: {error.message}", path=path, fix=error.fix) from error
        rows.append(row)
    return Wanted(tuple(rows), fresh)


async def make_plan(declared: Declared, wanted: Wanted, ledger: Ledger, facts_of: FactsOf) -> Plan:
    """What applying would change now. Writes nothing."""
    connections, routes = await ledger.connections(), await ledger.routes()
    return plan(declared, wanted.connections, wanted.names, connections, routes, facts_of)


async def apply(
    declared: Declared, wanted: Wanted, ledger: Ledger, vault: Vault, facts_of: FactsOf, *, fingerprint: str
) -> Plan:
    """Write it, all in one transaction. Raises ApplyRefused, or PlanStale where it is not what was shown."""
    done: list[Plan] = []

    def decide(connections: list[Connection], routes: list[Route]) -> RouteChange:
        found = plan(declared, wanted.connections, wanted.names, connections, routes, facts_of)
        if found.fingerprint != fingerprint:
            raise PlanStale("Something changed since the plan was shown.", fix="Look again: postroom plan")
        if found.blockers:
            raise ApplyRefused(found)
        done.append(found)
        changed = {c.id for c in found.connections}
        return RouteChange(
            put=found.routes,
            action="apply",
            connections=found.connections,
            secrets={
                connection_id: {name: vault.seal(value) for name, value in values.items()}
                for connection_id, values in wanted.fresh.items()
                if connection_id in changed
            },
        )

    await ledger.change_routes(decide)
    return done[-1]


async def export(ledger: Ledger) -> Declared:
    """What is live as a file: routes in service, and connections with their secrets in the vault."""
    connections = {
        c.id: DeclaredConnection(
            channel=c.channel,
            label=c.label,
            enabled=c.enabled,
            owners=c.owners,
            settings=_by_option(load(c.channel), c.settings),
            secrets={name: SecretRef(vault=True) for name in c.secret_names},
        )
        for c in await ledger.connections()
    }
    routes = tuple(declared_route(r) for r in await ledger.routes() if r.enabled)
    return Declared(connections=connections, routes=routes)


def _by_option(channel: Channel, settings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    aliases = {name: field.alias or name for name, field in channel.settings.model_fields.items()}
    return {aliases.get(name, name): value for name, value in settings.items()}


def _secrets(
    channel: Channel, connection_id: str, declared: DeclaredConnection, before: Connection | None, path: Path
) -> dict[str, str]:
    """The values that the file refers to; those kept in the vault are left there."""
    known = {s.name: s for s in channel.secrets}
    where = f"connection {connection_id}"
    for name in declared.secrets:
        if name not in known:
            raise FileInvalid(
                f"{where}: {channel.name} has no secret '{name}'.", path=path, fix=f"Its secrets: {', '.join(known)}."
            )
    for secret in channel.secrets:
        if secret.required and secret.name not in declared.secrets:
            raise FileInvalid(
                f"{where}: the secret '{secret.name}' is missing.",
                path=path,
                fix=f"Add to its secrets: {secret.name}: {{env: VAR}}",
            )
    values: dict[str, str] = {}
    for name, ref in declared.secrets.items():
        if not ref.vault:
            values[name] = _value(ref, f"{where}: secret '{name}'", path)
        elif before is None or name not in before.secret_names:
            raise FileInvalid(
                f"{where}: the vault has no '{name}'.", path=path, fix="Refer to it by env: VAR or file: PATH once."
            )
    return values


def _value(ref: SecretRef, where: str, path: Path) -> str:
    if ref.env is not None:
        value = os.environ.get(ref.env, "").strip()
        if not value:
            raise FileInvalid(f"{where}: the variable {ref.env} is not set.", path=path, fix=f"Set {ref.env}.")
        return value
    file = path.parent / Path(ref.file or "").expanduser()
    try:
        value = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileInvalid(f"{where}: {file} can't be read.", path=path, fix="Check the path.") from error
    if not value:
        raise FileInvalid(f"{where}: {file} is empty.", path=path, fix="Put the secret there.")
    return value
