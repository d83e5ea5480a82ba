"""One workspace in which the app is installed: its world, what people do in it, and the calls its token may make."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from channels.rehearsal.journal import Journal
from channels.slack.rehearsal.chat import Messages
from channels.slack.rehearsal.conversations import Conversations
from channels.slack.rehearsal.delivery import Delivery
from channels.slack.rehearsal.errors import ApiError
from channels.slack.rehearsal.events import Events, Reordered
from channels.slack.rehearsal.files import Files
from channels.slack.rehearsal.interactions import Interactions
from channels.slack.rehearsal.method import Method
from channels.slack.rehearsal.people import People
from channels.slack.rehearsal.world import World

Json = dict[str, Any]

VERIFICATION_TOKEN = "R" * 24  # not a secret: it opens nothing but this server


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the workspaces of one server share, and how the app is to be treated."""

    delivery: Delivery
    journal: Journal
    reordered: Reordered
    background: Callable[[Coroutine[None, None, None]], None]
    disconnect: Callable[[str], Coroutine[None, None, None]]
    url: Callable[[], str]
    scopes: tuple[str, ...]
    per_channel: float
    echoes: bool


class Workspace:
    """The app in one workspace. `prefix` goes before its chats in the control API, where several are told apart."""

    def __init__(self, around: Surroundings, world: World, bot_token: str, prefix: str = "") -> None:
        self.world = world
        self.bot_token = bot_token
        self.prefix = prefix
        self._around = around
        self._revoked = ""
        events = Events(world, around.delivery, around.reordered, VERIFICATION_TOKEN)
        messages = Messages(
            world, events, self._said, self._typing, per_channel=around.per_channel, echoes=around.echoes
        )
        self.files = Files(world, messages, around.url)
        self.interactions = Interactions(
            world,
            around.delivery,
            self._said,
            around.background,
            url=around.url,
            verification_token=VERIFICATION_TOKEN,
        )
        self._people = People(
            world, events, self.interactions, url=around.url, revoke=self._revoke, disconnect=around.disconnect
        )
        self._methods = {
            **messages.methods(),
            **Conversations(world).methods(),
            **self.files.methods(),
            "auth.test": Method(self._auth_test),
        }

    async def say(self, request: Json, *, twice: bool) -> Json:
        """Let a person do something here. Raises Unsayable."""
        done = await self._people.act(request, twice=twice)
        return {name: f"{self.prefix}{value}" if value else value for name, value in done.items()}

    def method(self, name: str) -> Method | None:
        """The method of that name, for this workspace's token."""
        return self._methods.get(name)

    def authorise(self, method: Method) -> None:
        """Whether this workspace's token may call it. Raises ApiError."""
        if method.app:
            raise ApiError("not_allowed_token_type")
        if self._revoked:
            raise ApiError(self._revoked)
        scopes = self._around.scopes
        if method.scope and method.scope not in scopes:
            raise ApiError("missing_scope", needed=method.scope, provided=",".join(scopes))

    def file(self, file_id: str, bearer: str) -> web.Response:
        """The bytes of a file, for this workspace's token."""
        can_read = "files:read" in self._around.scopes and not self._revoked
        return self.files.fetch(file_id, allowed=can_read and bearer == f"Bearer {self.bot_token}")

    def forget(self) -> None:
        """Forget everyone and everything; the app is installed."""
        self.world.forget()
        self._revoked = ""

    async def _said(self, chat: str, ref: str, text: str, method: str, **more: Any) -> None:
        self._around.journal.reply(f"{self.prefix}{chat}", f"{self.prefix}{ref}" if ref else "", text, method, **more)

    def _typing(self, chat: str, seconds: float) -> None:
        self._around.journal.typing(f"{self.prefix}{chat}", seconds)

    def _revoke(self, error: str) -> None:
        self._revoked = error

    async def _auth_test(self, _params: Json) -> Json:
        return {
            "url": f"https://{self.world.team}.slack.com/",
            "team": self.world.team,
            "user": self.world.bot_name,
            "team_id": self.world.team_id,
            "user_id": self.world.bot,
            "bot_id": self.world.bot_id,
            "is_enterprise_install": False,
        }
