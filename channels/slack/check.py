"""Whether a Slack connection works: the token, its scopes, and the way events come."""

from __future__ import annotations

from channels.adapter import ConnectionReport, Finding
from channels.errors import SendError, SendRefused
from channels.slack.account import Account
from channels.slack.client import SlackClient
from channels.slack.settings import Transport

HEARS = {
    "app_mentions:read": "mentions",
    "im:history": "direct messages",
    "channels:history": "public channels",
    "groups:history": "private channels",
    "mpim:history": "group direct messages",
}
USES = {
    **HEARS,
    "reactions:read": "reactions",
    "files:read": "files it is sent",
    "files:write": "sending files",
}
"""Scope → what an app without it can't see or do."""

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
    scopes = {scope.strip() for scope in str(answer.headers.get("x-oauth-scopes") or "").split(",") if scope.strip()}
    findings = [
        _token_finding(account, bot, workspace),
        _scopes_finding(scopes),
        await _socket_finding(client, app_token) if transport == "socket" else _hook_finding(hook_url),
    ]
    return ConnectionReport(all(f.ok for f in findings), f"{bot} in {workspace}", tuple(findings)), account


def _token_finding(account: Account, bot: str, workspace: str) -> Finding:
    if account.bot_id:
        return Finding("token", True, f"The token is {bot}'s in {workspace}.")
    return Finding("token", False, f"The token is {bot}'s own, not a bot's.", "Use the bot token, which starts xoxb-.")


def _scopes_finding(scopes: set[str]) -> Finding:
    if not scopes:
        return Finding("scopes", True, "Slack did not tell the token's scopes.")
    if "chat:write" not in scopes:
        return Finding("scopes", False, "The app can't write: it lacks chat:write.", INSTALL)
    if scopes.isdisjoint(HEARS):
        return Finding("scopes", False, f"The app hears nothing: it has none of {', '.join(HEARS)}.", INSTALL)
    lacking = [f"{what} ({scope})" for scope, what in USES.items() if scope not in scopes]
    if lacking:
        return Finding("scopes", True, f"The app writes, and goes without {', '.join(lacking)}.")
    return Finding("scopes", True, "The app has every scope it can use.")


async def _socket_finding(client: SlackClient, app_token: str) -> Finding:
    try:
        await client.open_socket(app_token)
    except SendError as error:
        return _failed(error, "The app-level token: ")
    return Finding("socket", True, "Slack opens a socket for the app-level token.")


def _hook_finding(hook_url: str) -> Finding:
    if hook_url:
        return Finding("webhook", True, "Slack has to be given the hook URL of `postroom connection show`.")
    return Finding("webhook", False, "Slack has no address to deliver to.", "Set POSTROOM_PUBLIC_URL.")


def _failed(error: SendError, whose: str = "") -> Finding:
    """`token` is for a person to mend; anything else may pass."""
    broken = isinstance(error, SendRefused)
    return Finding("token" if broken else "unreachable", False, f"{whose}{error.message}", error.fix)
