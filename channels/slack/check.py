"""Whether a Slack connection works: the token, its scopes, and the way events come."""

from __future__ import annotations

from channels.adapter import ConnectionReport, Finding
from channels.errors import SendError, SendRefused
from channels.slack.account import Account
from channels.slack.client import SlackClient
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


async def check(
    client: SlackClient, transport: Transport, app_token: str, hook_url: str
) -> tuple[ConnectionReport, Account | None]:
    """The report, and the account where Slack told it."""
    try:
        account, answer = await client.identify()
    except SendError as error:
        return ConnectionReport(False, findings=(_failed(error),)), None
    workspace, bot = str(answer.get("team") or account.team_id), f"@{answer.get('user') or account.user_id}"
    findings = [
        _token_finding(account, bot, workspace),
        *_scopes(str(answer.headers.get("x-oauth-scopes") or "")),
        await _socket_finding(client, app_token) if transport == "socket" else _hook_finding(hook_url),
    ]
    return ConnectionReport(all(f.ok for f in findings), f"{bot} in {workspace}", tuple(findings)), account


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
