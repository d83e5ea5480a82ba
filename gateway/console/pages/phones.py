"""Phones: write as a user through the real adapters, where rehearsal servers stand in, and make things go wrong."""

from __future__ import annotations

from aiohttp import ClientError, web

from channels.errors import PostroomError
from channels.rehearsal import RehearsalClient
from gateway.console.pages.conversations import words
from gateway.console.stage import PERSON, Stage

USER = "console"

FAULTS: dict[str, dict[str, object]] = {
    "slow": {"delay": 3.0, "times": 3},
    "429": {"status": 429, "retry_after": 2.0, "times": 2},
    "duplicate": {"duplicate": True, "times": 1},
    "offline": {"drop": "before", "times": 5},
}
"""What the switches do, in the rehearsal's own words."""


class NoPhone(PostroomError):
    """No rehearsal stands in for this channel."""

    code = "no_phone"


class Phones:
    """The page and its forms."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def show(self, request: web.Request) -> web.Response:
        """The phones, with what was said on each."""
        phones: list[dict[str, object]] = []
        for channel, url in self._stage.controls.items():
            lines = await self._lines(channel)
            phones.append({"channel": channel, "lines": lines, "url": url})
        part = request.headers.get("HX-Request") == "true"
        return self._stage.page(
            request, "phones_live.html" if part else "phones.html", title="Phones", phones=phones, faults=[*FAULTS]
        )

    async def say(self, request: web.Request) -> web.Response:
        """Write a message as a user, or switch a fault on."""
        form, channel = await request.post(), request.match_info["channel"]
        url = self._stage.controls.get(channel)
        if url is None:
            raise NoPhone(f"Nothing stands in for {channel} here.", fix="Start the demo: postroom demo")
        fault = FAULTS.get(str(form.get("fault", "")))
        try:
            async with RehearsalClient(url) as client:
                if fault is not None:
                    await client.fault(**fault)
                elif text := str(form.get("text", "")).strip():
                    await client.say(text, user=USER)
        except (ValueError, ClientError) as error:
            raise NoPhone(f"The rehearsal said no: {error}.", fix="See its log.") from error
        if fault is not None:
            await self._stage.note(request[PERSON], "set fault", channel, after=str(form.get("fault")))
        return self._stage.back(request, "phones")

    async def _lines(self, channel: str) -> list[tuple[str, str, str]]:
        """(who, what, state) of the newest conversation of the console's own phone."""
        for summary in await self._stage.ledger.conversations(20, channel):
            if summary.channel != channel:
                continue
            key = summary.conversation.key
            lines: list[tuple[float, str, str, str]] = [
                (m.message.received_at.timestamp(), "you", m.message.text, m.state)
                for m in await self._stage.ledger.messages(key, 20)
                if not m.message.sender.is_self
            ]
            lines += [(d.created_at, "bot", words(d), d.status) for d in await self._stage.ledger.deliveries(key, 20)]
            return [(who, text, state) for _, who, text, state in sorted(lines)]
        return []
