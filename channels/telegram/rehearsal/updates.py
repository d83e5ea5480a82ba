"""How updates reach the bot: a queue for getUpdates, or pushes to a webhook."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from channels.rehearsal.faults import Faults
from channels.telegram.rehearsal.errors import ApiError
from channels.telegram.rehearsal.webhook import Execute, Webhook

Json = dict[str, Any]

KINDS = {
    "message", "edited_message", "channel_post", "edited_channel_post", "business_connection", "business_message",
    "edited_business_message", "deleted_business_messages", "message_reaction", "message_reaction_count",
    "inline_query", "chosen_inline_result", "callback_query", "shipping_query", "pre_checkout_query",
    "purchased_paid_media", "poll", "poll_answer", "my_chat_member", "chat_member", "chat_join_request", "chat_boost",
    "removed_chat_boost",
}  # fmt: skip
UNASKED = {"message_reaction", "message_reaction_count", "chat_member"}
"""Kinds that come only when they are named."""

LONGEST_POLL = 50.0
"""Seconds that getUpdates is held at most."""

DAY = 86_400.0
KEPT = {"callback_query": 150.0}
"""Seconds that an update waits to be taken; a day unless named here."""

FUTURE = 10
"""An offset further than this beyond the last update confirms nothing."""

OTHER_POLL = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
HOOKED = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"


@dataclass(frozen=True, slots=True)
class Update:
    """One update on its way. Those of one `lane` go to a webhook one after the other; it ends at `expires`."""

    content: Json
    lane: str
    expires: float = field(compare=False)

    @property
    def id(self) -> int:
        """Its update_id."""
        number: int = self.content["update_id"]
        return number


class Updates:
    """Updates not confirmed yet, and the webhook if one is set."""

    def __init__(self, faults: Faults, execute: Execute, retry_scale: float) -> None:
        self._faults = faults
        self._execute = execute
        self._scale = retry_scale
        self._pending: deque[Update] = deque()
        self._next = 100_000_001
        self._poller: asyncio.Future[None] | None = None
        self._allowed: list[str] | None = None
        self._pusher: Webhook | None = None
        self.webhook: Json = {}
        self.last_error: Json = {}

    @property
    def pending(self) -> list[Json]:
        """What waits for getUpdates."""
        return [update.content for update in self._pending]

    def add(self, kind: str, content: Json, lane: int) -> None:
        """Something happened in a chat, or to a person: an update, unless its kind isn't asked for."""
        if not self.wants(kind):
            return
        for one, body, where in self._faults.reordered((kind, content, lane)):
            family = "message" if one.endswith(("message", "channel_post")) else one
            expires = time.monotonic() + KEPT.get(one, DAY)
            update = Update({"update_id": self._next, one: body}, f"{family}:{where}", expires)
            self._next += 1
            for _ in range(2 if self._faults.duplicates() else 1):
                self._deliver(update)

    def wants(self, kind: str) -> bool:
        """Whether the bot asked for updates of this kind."""
        return kind in self._allowed if self._allowed is not None else kind not in UNASKED

    async def poll(self, offset: int, limit: int, wait: float, allowed: Any) -> list[Json]:
        """getUpdates. Raises ApiError 409 with a webhook set, or when another poller comes meanwhile."""
        if self.webhook:
            raise ApiError(409, HOOKED)
        self.choose(allowed)
        self._confirm(offset)
        if self._pending or wait <= 0:
            return self._waiting(limit)
        self._end_poll(OTHER_POLL)
        held = self._poller = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(min(wait, LONGEST_POLL)):
                await held
        except TimeoutError:
            pass
        finally:
            if self._poller is held:
                self._poller = None
        return self._waiting(limit)

    async def set_webhook(self, webhook: Json, allowed: Any, *, drop: bool) -> None:
        """Push from now on; what waits is pushed too."""
        self._end_poll("Conflict: terminated by setWebhook request")
        await self.delete_webhook(drop=drop)
        self.choose(allowed)
        self.webhook = webhook
        self._pusher = Webhook(webhook, self._execute, self._failed, self._scale)
        waiting, self._pending = self._pending, deque()
        for update in waiting:
            self._pusher.push(update)

    async def delete_webhook(self, *, drop: bool) -> None:
        """Back to polling; what was not delivered waits there."""
        undelivered = await self._pusher.close() if self._pusher is not None else []
        self._pusher = None
        self.webhook, self.last_error = {}, {}
        self._pending.extend(sorted(undelivered, key=lambda update: update.id))
        if drop:
            self._pending.clear()

    def drop(self) -> None:
        """Forget what waits."""
        self._pending.clear()
        if self._pusher is not None:
            self._pusher.drop()

    async def close(self) -> None:
        """Stop pushing."""
        if self._pusher is not None:
            await self._pusher.close()

    def info(self) -> Json:
        """getWebhookInfo: never the secret."""
        shown = {k: v for k, v in self.webhook.items() if k != "secret_token"}
        return {
            "url": "",
            "has_custom_certificate": False,
            "pending_update_count": len(self._pending) + (len(self._pusher) if self._pusher else 0),
            **shown,
            **({"allowed_updates": self._allowed} if self._allowed else {}),
            **self.last_error,
        }

    def _deliver(self, update: Update) -> None:
        if self._pusher is not None:
            self._pusher.push(update)
            return
        self._pending.append(update)
        if self._poller is not None and not self._poller.done():
            self._poller.set_result(None)

    def choose(self, allowed: Any) -> None:
        """The kinds to come from now on: sticky, all but the unasked when none of the names is known."""
        if isinstance(allowed, Sequence) and all(isinstance(name, str) for name in allowed):
            known = [name.lower() for name in allowed if name.lower() in KINDS]
            self._allowed = known or None

    def _confirm(self, offset: int) -> None:
        """Forget what came before the offset, and what is too old; a negative one counts from the end."""
        pending, now = self._pending, time.monotonic()
        while pending and len(pending) > -offset > 0:
            pending.popleft()
        if offset > self._next + FUTURE:
            offset = 0
        while pending and (pending[0].id < offset or pending[0].expires < now):
            pending.popleft()

    def _waiting(self, limit: int) -> list[Json]:
        return [update.content for update in islice(self._pending, limit)]

    def _end_poll(self, words: str) -> None:
        if self._poller is not None and not self._poller.done():
            self._poller.set_exception(ApiError(409, words))
        self._poller = None

    def _failed(self, problem: str) -> None:
        self.last_error = {"last_error_date": int(time.time()), "last_error_message": problem}
