"""The workspaces one app is installed in: a bot token each, known by its workspace once Slack has told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from pydantic import JsonValue

from channels.errors import ConnectionBroken, PostroomError, SendRefused, SendRetry
from channels.slack.account import Account
from channels.slack.client import SlackClient
from channels.slack.normalise import sent_to

log = structlog.get_logger()

LONGEST_PAUSE = 30.0


class AccountUnknown(PostroomError):
    """The app's own account isn't known yet: Slack has not answered auth.test."""

    code = "account_unknown"


@dataclass(slots=True)
class Installation:
    """The app in one workspace. `number` counts the tokens as they were given, from 1."""

    number: int
    token: str
    client: SlackClient
    account: Account | None = None
    refused: SendRefused | None = None

    @property
    def title(self) -> str:
        """The workspace, or which token it is while that isn't known."""
        return f"Workspace {self.account.title}" if self.account else f"Bot token {self.number}"


class Installations:
    """All of one connection's. The home workspace, whose ids stay plain, is the first token's unless it is named."""

    def __init__(self, tokens: Sequence[str], base_url: str, home_team: str = "") -> None:
        self.all = [Installation(n, token, SlackClient(token, base_url)) for n, token in enumerate(tokens, 1)]
        self._home_team = home_team

    async def close(self) -> None:
        """Close every client."""
        for each in self.all:
            await each.client.close()

    @property
    def first(self) -> Installation:
        """The one whose client speaks for the app as a whole."""
        return self.all[0]

    @property
    def several(self) -> bool:
        """Whether a message about one has to say which."""
        return len(self.all) > 1

    @property
    def settled(self) -> bool:
        """Whether of each it is known which workspace it is, or that its token is refused."""
        return all(each.account or each.refused for each in self.all)

    @property
    def refused(self) -> list[Installation]:
        """Those whose token Slack refused."""
        return [each for each in self.all if each.refused]

    async def learn(self, connection_id: str, backoff: float) -> None:
        """Ask until each is settled. Raises ConnectionBroken where Slack refuses every token."""
        await asyncio.gather(*(self._learn(each, connection_id, backoff) for each in self.all))
        problems = [each.refused for each in self.all if each.refused]
        if len(problems) == len(self.all):
            raise ConnectionBroken(problems[0].message, fix=problems[0].fix) from problems[0]

    def addressed(self, payload: Mapping[str, JsonValue]) -> Account:
        """The installation a payload was sent to; any that is known where it was sent to none of these.

        Raises PayloadError, and AccountUnknown while one could be meant that isn't known yet.
        """
        accounts = [each.account for each in self.all if each.account]
        found = sent_to(payload, accounts)
        if found is None and not (accounts and self.settled):
            raise AccountUnknown("Slack has not told yet who this app is.", fix="Try again in a moment.")
        return found or accounts[0]

    def abroad(self, account: Account) -> str:
        """The mark that this workspace's ids carry; nothing at home."""
        return "" if account.team_id == self._home() else account.team_id

    def at(self, team_id: str) -> Installation:
        """The installation in a workspace, by the mark its ids carry. Raises SendRetry or SendRefused."""
        if not team_id and not self._home_team:
            return self.first
        wanted = team_id or self._home_team
        found = next((each for each in self.all if each.account and each.account.team_id == wanted), None)
        if found is not None:
            return found
        if not self.settled:
            raise SendRetry("Slack has not told yet which workspaces this app is in.", after=1.0)
        raise SendRefused(
            f"There is no bot token for workspace {wanted}.",
            reason="workspace_unknown",
            fix="Add the connection again with the bot tokens of all its workspaces.",
        )

    def _home(self) -> str:
        return self._home_team or (self.first.account.team_id if self.first.account else "")

    async def _learn(self, each: Installation, connection_id: str, backoff: float) -> None:
        failures = 0
        while True:
            try:
                each.account, _ = await each.client.identify()
                each.refused = None
            except SendRefused as error:
                each.refused = error
                log.error("workspace_refused", connection=connection_id, token=each.number, reason=error.reason)
            except SendRetry as error:
                failures += 1
                log.warning("slack_unreachable", connection=connection_id, token=each.number, error=str(error))
                await asyncio.sleep(max(error.after or 0.0, min(LONGEST_PAUSE, backoff * 2.0 ** (failures - 1))))
                continue
            return
