"""Updates by polling or by webhook."""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

from channels.telegram.rehearsal.errors import ApiError, bad_request
from channels.telegram.rehearsal.methods.bot import Bot, Json, Method, Result
from channels.telegram.rehearsal.params import flag, integer, unpacked

LIMIT_MAX = 100
CONNECTIONS, CONNECTIONS_MAX = 40, 100
PORTS = {443, 80, 88, 8443}
SECRET_MAX = 256

_SECRET = re.compile(r"[A-Za-z0-9_-]*")


async def get_updates(bot: Bot, params: Json) -> list[Json]:
    """Waits for updates; an offset confirms all before it."""
    limit = min(LIMIT_MAX, max(1, integer(params, "limit", LIMIT_MAX)))
    return await bot.updates.poll(integer(params, "offset"), limit, integer(params, "timeout"), _allowed(params))


async def set_webhook(bot: Bot, params: Json) -> Result:
    """An empty URL takes the webhook away."""
    drop = flag(params, "drop_pending_updates")
    url = str(params.get("url", ""))
    if not url:
        return await _without_webhook(bot, drop)
    webhook = {
        "url": url,
        "max_connections": min(CONNECTIONS_MAX, max(1, integer(params, "max_connections", CONNECTIONS))),
        "secret_token": _secret(params),
        "ip_address": _checked(url),
    }
    if webhook == bot.updates.webhook and not drop:
        bot.updates.choose(_allowed(params))
        return Result(True, "Webhook is already set")
    await bot.updates.set_webhook(webhook, _allowed(params), drop=drop)
    return Result(True, "Webhook was set")


async def delete_webhook(bot: Bot, params: Json) -> Result:
    """Back to polling; what waits is kept unless it is to be dropped."""
    return await _without_webhook(bot, flag(params, "drop_pending_updates"))


async def get_webhook_info(bot: Bot, _params: Json) -> Json:
    """Tells what waits and what failed last, never the secret."""
    return bot.updates.info()


async def _without_webhook(bot: Bot, drop: bool) -> Result:
    was_set = bool(bot.updates.webhook)
    await bot.updates.delete_webhook(drop=drop)
    return Result(True, "Webhook was deleted" if was_set else "Webhook is already deleted")


def _allowed(params: Json) -> Any:
    """A list that can't be read counts as not given."""
    try:
        return unpacked(params, "allowed_updates", "")
    except ApiError:
        return None


def _secret(params: Json) -> str:
    secret = str(params.get("secret_token", ""))
    if len(secret.encode()) > SECRET_MAX:
        raise bad_request("secret token is too long")
    if not _SECRET.fullmatch(secret):
        raise bad_request("secret token contains unallowed characters")
    return secret


def _checked(url: str) -> str:
    """The address of a webhook's host, if it is told without asking a name server. Raises ApiError.

    This machine is allowed, on any port and without TLS, since nothing is rehearsed elsewhere.
    """
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise bad_request("invalid webhook URL specified") from None
    if not host or parts.scheme not in ("http", "https"):
        raise bad_request("invalid webhook URL specified")
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        address = None
    if address is not None and address.is_loopback:
        return str(address)
    if parts.scheme != "https":
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    if (port or 443) not in PORTS:
        raise bad_request("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
    if address is None:
        return "<unknown>"
    if address.version != 4:
        raise bad_request("bad webhook: IPv6-only addresses are not allowed")
    if not address.is_global:
        raise bad_request(f"bad webhook: IP address {address} is reserved")
    return str(address)


METHODS: dict[str, Method] = {
    "getUpdates": get_updates,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
}
