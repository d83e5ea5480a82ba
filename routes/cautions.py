"""The findings that an owner should know of before a route goes live, and may accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from routes.conflicts import is_covered
from routes.connection import Connection
from routes.facts import ConnectionFacts, Finding
from routes.route import Route
from routes.scope import overlap


def cautions(
    route: Route, others: Sequence[Route], connection: Connection | None, more: ConnectionFacts
) -> Iterator[Finding]:
    """Every warning about a route among the other live routes of its connection."""
    yield from _about_reach(route)
    yield from _about_fallback(route, others)
    if connection is not None:
        yield from _about_admission(route, connection)
        yield from _about_arrival(route, connection, more)


def _about_reach(route: Route) -> Iterator[Finding]:
    scope = route.scope
    if scope.is_everything and not route.fallback:
        fix = "Give it a narrower scope, or make it the fallback, to leave room for other agents."
        yield Finding("broad_scope", "This route takes every message of the connection.", fix)
    if route.access.policy == "open" and scope.kind != "dm" and scope.senders is None:
        fix = "Use scope dm, or access allowlist, pairing or owner, unless that is what you want."
        yield Finding("open_access", "Everyone in every group that the scope takes may use it.", fix)


def _about_fallback(route: Route, others: Sequence[Route]) -> Iterator[Finding]:
    scoped = [r for r in others if not r.fallback]
    if route.fallback:
        if is_covered(route.scope, scoped):
            message = "The other routes of the connection take every message: this fallback is never reached."
            yield Finding("unreachable_route", message, "Narrow one of them, or leave the fallback out.")
        return
    for fallback in (r for r in others if r.fallback and overlap(r.scope, route.scope)):
        if is_covered(fallback.scope, [*scoped, route]):
            message = f"With this route, nothing is left for the fallback '{fallback.id}'."
            fix = f"Narrow the scope, or disable the fallback: postroom route disable {fallback.id}"
            yield Finding("unreachable_route", message, fix, (fallback.id,))


def _about_admission(route: Route, connection: Connection) -> Iterator[Finding]:
    """An owner's or an allowlist's route that lets nobody in. Pairing lets people in later."""
    if route.access.policy not in ("owner", "allowlist"):
        return
    admitted = {*connection.owners, *(route.access.allow if route.access.policy == "allowlist" else ())}
    if not admitted:
        fix = "Add sender ids: as owners of the connection, or to an allowlist."
        yield Finding("unreachable_route", "Nobody is let in: the list of people is empty.", fix)
    elif route.scope.senders is not None and route.scope.senders.isdisjoint(admitted):
        message = "Nobody is let in: none of the senders in the scope is admitted by the access policy."
        yield Finding("unreachable_route", message, "Let the scope's senders in, or change the scope.")


def _about_arrival(route: Route, connection: Connection, more: ConnectionFacts) -> Iterator[Finding]:
    if connection.status == "unverified":
        message = f"Connection '{connection.id}' was never checked."
        yield Finding("connection_unverified", message, f"Check it: postroom connection check {connection.id}")
    if more.needs_public_url and not more.public_url:
        message = "The provider can't reach this gateway: it has no public address."
        yield Finding("no_public_url", message, "Set POSTROOM_PUBLIC_URL, or let the connection poll where it can.")
    if more.privacy_mode and route.scope.kind in ("any", "group") and route.scope.commands is None:
        message = "With privacy mode on, the bot sees commands and replies in groups, and little else."
        fix = "Turn it off with /setprivacy at @BotFather, then remove the bot from its groups and add it again."
        yield Finding("privacy_mode", message, fix)
