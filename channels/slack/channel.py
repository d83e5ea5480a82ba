"""The Slack channel, registered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from channels.adapter import Adapter, Channel, OpenConnection, Secret
from channels.errors import ConnectionBroken
from channels.slack.settings import BOT_TOKEN, SlackSettings, complain, transport


@asynccontextmanager
async def _open(connection: OpenConnection) -> AsyncIterator[Adapter]:
    from channels.slack.adapter import SlackAdapter  # brings slack-sdk, which is slow to import

    complaint = complain(connection.settings, frozenset(connection.secrets))
    if complaint:
        raise ConnectionBroken(f"Slack connection '{connection.id}' lacks a secret. {complaint}")
    adapter = SlackAdapter(connection, cast(SlackSettings, connection.settings))
    try:
        yield adapter
    finally:
        await adapter.close()


CHANNEL = Channel(
    name="slack",
    label="Slack",
    settings=SlackSettings,
    secrets=(
        BOT_TOKEN,
        Secret("app_token", "app-token", "app-level token (xapp-…)", required=False),
        Secret("signing_secret", "signing-secret", "signing secret", required=False),
    ),
    manner="You are writing on Slack: short paragraphs, standard Markdown, few headings.",
    open=_open,
    setup=(
        "At api.slack.com/apps, subscribe to the bot events app_mention, message.im, message.channels, message.groups,"
        " message.mpim, reaction_added, member_joined_channel, app_uninstalled and tokens_revoked. For Socket Mode turn"
        " it on there. For HTTP paste the hook URL as request URL under Event Subscriptions, Interactivity and each"
        " slash command. For one app in several workspaces give the bot token of each to the same connection: Slack"
        " delivers each event of an app to one place only."
    ),
    complain=complain,
    by_webhook=lambda settings, secrets: transport(cast(SlackSettings, settings), secrets) == "http",
)
