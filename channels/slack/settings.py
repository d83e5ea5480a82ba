"""The settings of a Slack connection, and which way its events come."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field

from channels.adapter import ConnectionSettings, Secret

PUBLIC_API = "https://slack.com/api/"

Transport = Literal["socket", "http"]


class SlackSettings(ConnectionSettings, frozen=True):
    """How events come, and where Slack's API is."""

    mode: Literal["auto", "socket", "http"] = Field(
        default="auto", description="socket or http; auto is socket where an app token is given, else http"
    )
    base_url: str = Field(default=PUBLIC_API, pattern=r"^https?://", description="where Slack's Web API is")
    home_team: str = Field(
        default="",
        pattern=r"^([TE][A-Z0-9]+)?$",
        description="the workspace whose chats go by their plain ids, where there are several; else the first token's",
    )
    answer_edits: bool = Field(default=False, description="let an edited message start a turn of its own")


BOT_TOKEN = Secret("bot_token", "bot-token", "bot token (xoxb-…)", many=True)
"""One for each workspace that the app is installed in."""


def transport(settings: SlackSettings, secrets: Collection[str]) -> Transport:
    """Which way events come, by the setting or by the secrets there are."""
    if settings.mode != "auto":
        return settings.mode
    return "socket" if "app_token" in secrets else "http"


def complain(settings: ConnectionSettings, secrets: frozenset[str]) -> str:
    """What is missing for events to come in, or an empty string."""
    if not isinstance(settings, SlackSettings):
        return ""
    if "app_token" not in secrets and "signing_secret" not in secrets:
        return "Give --app-token-env for Socket Mode, or --signing-secret-env for events over HTTP."
    match transport(settings, secrets):
        case "socket" if "app_token" not in secrets:
            return "Socket Mode needs the app-level token: give --app-token-env."
        case "http" if "signing_secret" not in secrets:
            return "Events over HTTP need the signing secret: give --signing-secret-env."
    return ""
