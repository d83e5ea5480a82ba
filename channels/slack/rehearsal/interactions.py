"""Buttons and slash commands, and the address at which an app answers them later."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from channels.rehearsal.server import Unsayable
from channels.slack.rehearsal.blocks import buttons, checked
from channels.slack.rehearsal.chat import Say
from channels.slack.rehearsal.delivery import Delivery
from channels.slack.rehearsal.errors import ApiError
from channels.slack.rehearsal.reading import read
from channels.slack.rehearsal.world import Chat, World

Json = dict[str, Any]

RESPONSES_MAX = 5
"""How often an app may answer at a response URL."""


@dataclass(slots=True)
class _Asked:
    chat: Chat
    used: int = 0


class Interactions:
    """What a press or a command becomes. Neither is told again if it fails: the person sees that it did."""

    def __init__(
        self,
        world: World,
        delivery: Delivery,
        said: Say,
        background: Callable[[Coroutine[None, None, None]], None],
        *,
        url: Callable[[], str],
        verification_token: str,
    ) -> None:
        self._world = world
        self._delivery = delivery
        self._said = said
        self._background = background
        self._url = url
        self._token = verification_token
        self._asked: dict[str, _Asked] = {}

    def press(self, chat: Chat, user: Json, what: str) -> Json:
        """Press the newest button with this label, value or action id. Raises Unsayable."""
        for message in reversed(chat.messages.values()):
            for button in buttons(message.get("blocks", [])):
                if what in (button["text"]["text"], button.get("value"), button.get("action_id")):
                    self._ask("interactive", self._actions(chat, user, message, button), chat)
                    return message
        raise Unsayable(f"there is no button '{what}'")

    def command(self, chat: Chat, user: Json, command: str, text: str = "") -> None:
        """Use a slash command."""
        payload = {
            "token": self._token,
            "team_id": self._world.team_id,
            "team_domain": self._world.team,
            "channel_id": chat.id,
            "channel_name": "directmessage" if chat.kind == "dm" else chat.name,
            "user_id": user["id"],
            "user_name": user["name"],
            "command": command,
            "text": text,
            "api_app_id": self._world.app_id,
            "is_enterprise_install": "false",
            **self._ways_back(chat),
        }
        self._ask("slash_commands", payload, chat)

    def knows(self, ticket: str) -> bool:
        """Whether a response URL is of this workspace."""
        return ticket in self._asked

    async def respond(self, request: web.Request) -> web.Response:
        """A message at a response URL, at most five times."""
        asked = self._asked.get(request.match_info["ticket"])
        if asked is None:
            return web.json_response({"ok": False, "error": "invalid_url"}, status=404)
        if asked.used >= RESPONSES_MAX:
            return web.json_response({"ok": False, "error": "used_url"}, status=404)
        asked.used += 1
        try:
            await self._show(asked.chat, await request.json(), "response_url")
        except ApiError as error:
            return web.json_response(error.answer, status=400)
        except ValueError:
            return web.Response(status=400, text="invalid_payload")
        return web.Response(text="ok")

    def _ask(self, kind: str, payload: Json, chat: Chat) -> None:
        self._background(self._asking(kind, payload, chat))

    async def _asking(self, kind: str, payload: Json, chat: Chat) -> None:
        failed, answer = await self._delivery.ask(kind, payload)
        if failed and kind == "slash_commands":
            words = f'{payload["command"]} failed with the error "dispatch_failed"'
            await self._said(chat.id, "", words, "slackbot")
        elif not failed and kind == "slash_commands" and answer:
            await self._show(chat, answer, kind)

    async def _show(self, chat: Chat, message: Json, method: str) -> None:
        """Show an answer that is no message of the channel: only the one who asked sees it."""
        if message.get("delete_original"):
            return
        blocks = checked(message["blocks"]) if message.get("blocks") else []
        text = read(str(message.get("text", "")), blocks)
        if not text:
            raise ApiError("no_text")
        await self._said(chat.id, "", text, method)

    def _actions(self, chat: Chat, user: Json, message: Json, button: Json) -> Json:
        action = {name: button[name] for name in ("action_id", "block_id", "text", "value", "style") if name in button}
        container = {"type": "message", "message_ts": message["ts"], "channel_id": chat.id, "is_ephemeral": False}
        if "thread_ts" in message:
            container["thread_ts"] = message["thread_ts"]
        team = {"id": self._world.team_id, "domain": self._world.team}
        return {
            "type": "block_actions",
            "user": {"id": user["id"], "username": user["name"], "name": user["name"], "team_id": user["team_id"]},
            "api_app_id": self._world.app_id,
            "token": self._token,
            "container": container,
            "team": team,
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": chat.id, "name": "directmessage" if chat.kind == "dm" else chat.name},
            "message": message,
            "state": {"values": {}},
            "actions": [{**action, "type": "button", "action_ts": self._world.ts()}],
            **self._ways_back(chat),
        }

    def _ways_back(self, chat: Chat) -> Json:
        ticket = secrets.token_urlsafe(12)
        self._asked[ticket] = _Asked(chat)
        trigger = f"{self._world.serial()}.{self._world.team_id}.{secrets.token_hex(8)}"
        return {"response_url": f"{self._url()}/response/{ticket}", "trigger_id": trigger}
