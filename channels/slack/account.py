"""Which installation of an app a payload is meant for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    name: str = ""

    @property
    def title(self) -> str:
        """The workspace, for people."""
        return f"{self.name} ({self.team_id})" if self.name else self.team_id


def addressee(payload: Json, accounts: Sequence[Account]) -> Account | None:
    """The installation that this payload was sent to, or None where it is none of these.

    The outer team of an event is where it happened, which in a shared channel can be somebody else's workspace; the
    first of `authorizations` is the installation it was sent to. Without a team it went to the whole organisation. A
    button belongs to the installation whose bot posted it, whatever workspace the person who pressed it is from.
    """
    poster = _poster(payload)
    own = next((account for account in accounts if poster and account.bot_id == poster), None)
    if own is not None:
        return own
    team, enterprise = _addressed(payload)
    single = next((account for account in accounts if not account.is_org and account.team_id == team), None)
    return single or next((account for account in accounts if _is_org_of(account, team, enterprise)), None)


def _is_org_of(account: Account, team: str, enterprise: str) -> bool:
    if account.is_org and account.enterprise_id:
        return account.enterprise_id in (enterprise, team)
    return account.is_org and account.team_id == team


def _poster(payload: Json) -> str:
    message = payload.get("message") if payload.get("type") == "block_actions" else None
    return str(message.get("bot_id") or "") if isinstance(message, Mapping) else ""


def _addressed(payload: Json) -> tuple[str, str]:
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
