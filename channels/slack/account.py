"""Which installation of an app a connection is, and whether a payload is meant for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]
"""A piece of a payload as it came: what is read from it is checked where it is read."""


@dataclass(frozen=True, slots=True)
class Account:
    """The app in one workspace, as auth.test tells it. `is_org`: installed for a whole organisation."""

    team_id: str
    user_id: str
    bot_id: str = ""
    enterprise_id: str = ""
    is_org: bool = False


def is_for(payload: Json, account: Account) -> bool:
    """Whether this payload was sent to that installation.

    The outer team of an event is where it happened, which in a shared channel can be somebody else's workspace; the
    first of `authorizations` is the installation it was sent to. Without a team it went to the whole organisation.
    """
    team, enterprise = _addressee(payload)
    if account.is_org and account.enterprise_id:
        return account.enterprise_id in (enterprise, team)
    return team == account.team_id


def _addressee(payload: Json) -> tuple[str, str]:
    authorizations = payload.get("authorizations")
    if authorizations:
        first = authorizations[0]
        return str(first.get("team_id") or ""), str(first.get("enterprise_id") or "")
    team = payload.get("team") or {}
    user = payload.get("user")
    actor = user.get("team_id") if isinstance(user, Mapping) else ""
    enterprise = payload.get("enterprise") or {}
    return (
        str(payload.get("team_id") or team.get("id") or actor or ""),
        str(payload.get("enterprise_id") or enterprise.get("id") or team.get("enterprise_id") or ""),
    )
