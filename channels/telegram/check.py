"""Whether a Telegram connection works: the token, the way updates come, and what the bot can't see."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from telegram.error import TelegramError

from channels.adapter import ConnectionReport, Finding
from channels.telegram.client import TelegramClient
from channels.telegram.normalise import Account
from channels.telegram.refusals import is_invalid_token, send_error
from channels.telegram.settings import TelegramSettings


async def check(
    client: TelegramClient, settings: TelegramSettings, hook_url: str
) -> tuple[ConnectionReport, Account | None]:
    """The report, and the account where Telegram told it."""
    try:
        me = await client.call("getMe", {})
        hook = await client.call("getWebhookInfo", {})
    except TelegramError as error:
        problem = send_error(error)
        code = "token" if is_invalid_token(error) else "unreachable"
        return ConnectionReport(False, findings=(Finding(code, False, problem.message, problem.fix),)), None
    account = Account(int(me["id"]), str(me.get("username", "")))
    name = f"@{account.username}"
    findings = [Finding("token", True, f"The token is {name}'s.")]
    if settings.mode == "webhook":
        findings += [_webhook(hook, hook_url), *_last_error(hook)]
    else:
        findings.append(_no_webhook(hook))
    findings += [_groups(me), _privacy(me)]
    report = ConnectionReport(
        all(f.ok for f in findings),
        name,
        tuple(findings),
        waiting=int(hook.get("pending_update_count") or 0),
        privacy_mode=me.get("can_read_all_group_messages") is not True,
    )
    return report, account


def _no_webhook(hook: Mapping[str, Any]) -> Finding:
    text = "A webhook is set; `up` takes it away." if hook.get("url") else "No webhook is set, as polling needs it."
    return Finding("webhook", True, f"{text} {_waiting(hook)}")


def _webhook(hook: Mapping[str, Any], hook_url: str) -> Finding:
    ok = bool(hook_url) and hook.get("url") == hook_url
    text = "The webhook is set." if ok else "The webhook is not set to this gateway."
    fix = "" if ok else "Set POSTROOM_PUBLIC_URL and start `postroom up`, which sets it."
    return Finding("webhook", ok, f"{text} {_waiting(hook)}", fix)


def _last_error(hook: Mapping[str, Any]) -> list[Finding]:
    """Telegram remembers its last failed delivery for ever: it matters while updates wait behind it."""
    error = hook.get("last_error_message")
    if not error:
        return []
    at = f"{datetime.fromtimestamp(int(hook.get('last_error_date', 0)), UTC):%Y-%m-%d %H:%M} UTC"
    if not hook.get("pending_update_count"):
        return [Finding("webhook_error", True, f"Deliveries arrive. The last that failed, at {at}: {error}.")]
    fix = "Make sure that POSTROOM_PUBLIC_URL leads here from outside, and look at the gateway's log."
    return [Finding("webhook_error", False, f"Telegram's last delivery failed, at {at}: {error}.", fix)]


def _groups(me: Mapping[str, Any]) -> Finding:
    if me.get("can_join_groups") is True:
        return Finding("join_groups", True, "The bot can be added to groups.")
    return Finding(
        "join_groups", True, "The bot can't be added to groups.", "To allow it: /setjoingroups at @BotFather."
    )


def _privacy(me: Mapping[str, Any]) -> Finding:
    if me.get("can_read_all_group_messages") is True:
        return Finding("privacy_mode", True, "Privacy mode is off: the bot sees every group message.")
    return Finding(
        "privacy_mode",
        True,
        "Privacy mode is on: in groups the bot sees commands and replies to it, and a plain mention may not reach it.",
        "Turn it off with /setprivacy at @BotFather, then add the bot to the group again.",
    )


def _waiting(hook: Mapping[str, Any]) -> str:
    return f"{hook.get('pending_update_count', 0)} update(s) wait."
