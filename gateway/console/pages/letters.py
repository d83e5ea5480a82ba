"""Dead letters: why, what, how often it was tried; retried one by one or all alike, or closed with a reason."""

from __future__ import annotations

from dataclasses import asdict

from aiohttp import web

from channels.errors import PostroomError
from gateway.console.stage import PERSON, Stage

SHOWN = 200

LOOKED_AT = 1_000
"""Messages and deliveries of a conversation among which a letter's own are looked for."""


class ReasonMissing(PostroomError):
    """A letter is closed for good only with a reason."""

    code = "reason_missing"


class Letters:
    """The page and its form."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def show(self, request: web.Request) -> web.Response:
        """The newest, grouped by nothing: each with its error."""
        letters = await self._stage.ledger.dead_letters(SHOWN)
        return self._stage.page(request, "letters.html", title="Dead letters", letters=letters)

    async def payload(self, request: web.Request) -> web.Response:
        """What a letter holds: the messages of a turn as the provider sent them, or the call of a delivery."""
        letter_id, key = request.query.get("id", ""), request.query.get("key", "")
        held: list[object] = [
            asdict(d.call) for d in await self._stage.ledger.deliveries(key, LOOKED_AT) if d.id == letter_id
        ]
        held += [
            m.message.raw or m.message.text
            for m in await self._stage.ledger.messages(key, LOOKED_AT)
            if m.turn_id == letter_id
        ]
        return self._stage.page(request, "payload.html", title="Payload", held=held)

    async def act(self, request: web.Request) -> web.Response:
        """Retry one, retry all with the same error, or discard one."""
        form, person = await request.post(), request[PERSON]
        letter_id, act = str(form.get("id", "")), str(form.get("act", ""))
        letters = {letter.id: letter for letter in await self._stage.ledger.dead_letters(SHOWN)}
        match act:
            case "discard":
                reason = str(form.get("reason", "")).strip()
                if not reason:
                    raise ReasonMissing("A dead letter is closed for good only with a reason.", fix="Write why.")
                await self._stage.ledger.discard(letter_id, reason)
                chosen = [letter_id]
            case "alike":
                error = letters[letter_id].error if letter_id in letters else ""
                chosen = [letter.id for letter in letters.values() if letter.error == error]
                for each in chosen:
                    await self._stage.ledger.replay(each)
            case _:
                await self._stage.ledger.replay(letter_id)
                chosen = [letter_id]
        await self._stage.note(
            person, f"{act or 'retry'} dead letter", ", ".join(chosen), after=str(form.get("reason", ""))
        )
        return self._stage.back(
            request, "letters", f"{len(chosen)} {'closed' if act == 'discard' else 'back in line'}."
        )
