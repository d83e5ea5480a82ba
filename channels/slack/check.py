"""Whether a Slack connection works: the token, its scopes, and the way events come."""

from __future__ import annotations

from dataclasses import replace

from channels.adapter import ConnectionReport, Finding
from channels.errors import SendError, SendRefused
from channels.slack.account import Account
from channels.slack.client import SlackClient
from channels.slack.installations import Installation, Installations
from channels.slack.settings import Transport

SPEAKS = "chat:write"

HEARS = {
    "app_mentions:read": "mentions of it",
    "im:history": "direct messages",
    "channels:history": "messages in public channels",
    "groups:history": "messages in private channels",
    "mpim:history": "group direct messages",
    "commands": "slash commands",
}
"""Scope → what an app without it never hears. With none of them it hears nothing at all."""

GOES_WITHOUT = {
    **{scope: f"the app doesn't hear {what}" for scope, what in HEARS.items()},
    "reactions:read": "the app doesn't see reactions",
    "channels:read": "the app isn't told of who joins or leaves public channels",
    "groups:read": "the app isn't told of who joins or leaves private channels",
    "files:read": "files that people send can't be fetched",
    "files:write": "an agent's files can't be sent",
}
"""Scope → what doesn't work without it."""

INSTALL = "Add scopes at api.slack.com/apps under OAuth & Permissions, and install the app again."


async def check(installations: Installations, transport: Transport, app_token: str, hook_url: str) -> ConnectionReport:
    """The report. The accounts that Slack tells are remembered."""
    told = [await _workspace(each, installations) for each in installations.all]
    findings = [finding for _, about in told for finding in about]
    names = [name for name, _ in told if name]
    if names:
        client = installations.first.client
        findings += _twice(installations)
        findings.append(await _socket_finding(client, app_token) if transport == "socket" else _hook_finding(hook_url))
    return ConnectionReport(all(f.ok for f in findings), ", ".join(names), tuple(findings))


async def _workspace(each: Installation, installations: Installations) -> tuple[str, list[Finding]]:
    """The bot's name in one workspace, empty where Slack doesn't tell it, and what was found there."""
    try:
        account, answer = await each.client.identify()
    except SendError as error:
        if isinstance(error, SendRefused):
            each.refused = error
        return "", [_failed(error, f"{each.title}: " if installations.several else "")]
    each.account, each.refused = account, None
    workspace, bot = account.name or account.team_id, f"@{answer.get('user') or account.user_id}"
    where = f"{workspace}: " if installations.several else ""
    scopes = _scopes(str(answer.headers.get("x-oauth-scopes") or ""))
    findings = [_token_finding(account, bot, workspace), *(replace(f, message=f"{where}{f.message}") for f in scopes)]
    return f"{bot} in {workspace}", findings


def _twice(installations: Installations) -> list[Finding]:
    """Of two tokens for one workspace only the first is used."""
    teams = [each.account.team_id for each in installations.all if each.account]
    return [
        Finding("workspace_twice", False, f"Two of the bot tokens are for workspace {team_id}.", "Give one for each.")
        for team_id in sorted({team_id for team_id in teams if teams.count(team_id) > 1})
    ]


def _token_finding(account: Account, bot: str, workspace: str) -> Finding:
    if account.bot_id:
        return Finding("token", True, f"The token is {bot}'s in {workspace}.")
    return Finding("token", False, f"The token is {bot}'s own, not a bot's.", "Use the bot token, which starts xoxb-.")


def _scopes(told: str) -> list[Finding]:
    """One finding for what the token has, and one for each scope it lacks, as the header of Slack's answer says."""
    scopes = {scope.strip() for scope in told.split(",") if scope.strip()}
    if not scopes:
        return [Finding("scopes", True, "Slack did not tell the token's scopes.")]
    known = (SPEAKS, *GOES_WITHOUT)
    has = ", ".join(scope for scope in known if scope in scopes) or "none of those that are used"
    findings = [Finding("scopes", True, f"Scopes: {has}.")]
    if SPEAKS not in scopes:
        findings.append(Finding("scope_missing", False, f"Without {SPEAKS} the app can't say anything.", INSTALL))
    deaf = scopes.isdisjoint(HEARS)
    findings += [
        Finding("scope_missing", not (deaf and scope in HEARS), f"Without {scope} {what}.", INSTALL)
        for scope, what in GOES_WITHOUT.items()
        if scope not in scopes
    ]
    return findings


async def _socket_finding(client: SlackClient, app_token: str) -> Finding:
    try:
        await client.open_socket(app_token)
    except SendError as error:
        return _failed(error, "The app-level token: ")
    return Finding("socket", True, "Slack opens a socket for the app-level token.")


def _hook_finding(hook_url: str) -> Finding:
    if hook_url:
        return Finding("webhook", True, "Slack doesn't tell where it delivers: what arrives does.")
    return Finding("webhook", False, "Slack has no address to deliver to.", "Set POSTROOM_PUBLIC_URL.")


def _failed(error: SendError, whose: str = "") -> Finding:
    """`token` is for a person to mend; anything else may pass."""
    broken = isinstance(error, SendRefused)
    return Finding("token" if broken else "unreachable", False, f"{whose}{error.message}", error.fix)
