"""Conversations: a live list, a transcript as the channel shows it, the run behind each reply, and takeover."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web
from yarl import URL

from agents_runtime.registry import Registry
from channels.errors import PostroomError
from channels.markdown.measure import segments
from channels.message import OutboundMessage
from gateway.console.stage import BASE, PERSON, Stage
from gateway.explain import Step, explain_stored
from gateway.ledger.errors import NotFound
from gateway.ledger.records import Delivery, Piece, RunRecord, StoredMessage

SHOWN = 100


class NotOpen(PostroomError):
    """The connection is not open, so nothing can be said on it."""

    code = "connection_not_open"


class NothingSaid(PostroomError):
    """An empty message."""

    code = "nothing_said"


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of a transcript: a message that came in, or a piece that went out."""

    at: float
    message: StoredMessage | None = None
    delivery: Delivery | None = None
    run: RunRecord | None = None
    segments: str = ""

    @property
    def text(self) -> str:
        """What it says."""
        if self.message is not None:
            return _said(self.message)
        return "" if self.delivery is None else words(self.delivery)


class Conversations:
    """The list and one conversation."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def index(self, request: web.Request) -> web.Response:
        """The newest conversations, filtered by what is looked for and by channel."""
        find, channel = request.query.get("find", "")[:200], request.query.get("channel", "")
        found = await self._stage.ledger.conversations(SHOWN, find)
        part = request.headers.get("HX-Request") == "true"
        return self._stage.page(
            request,
            "conversations_live.html" if part else "conversations.html",
            title="Conversations",
            conversations=[c for c in found if channel in ("", c.channel)],
            channels=sorted({c.channel for c in found}),
            find=find,
            channel=channel,
            taken_over=self._stage.routes.taken_over,
        )

    async def show(self, request: web.Request) -> web.Response:
        """One conversation."""
        key = request.query.get("key", "")
        summary = await self._stage.ledger.conversation(key)
        runs = {run.turn_id: run for run in await self._stage.ledger.runs(key, SHOWN)}
        lines = [
            Line(m.message.received_at.timestamp(), message=m) for m in await self._stage.ledger.messages(key, SHOWN)
        ]
        told: set[str] = set()
        for delivery in await self._stage.ledger.deliveries(key, SHOWN):
            run = None if delivery.turn_id in told else runs.get(delivery.turn_id)
            told.add(delivery.turn_id)
            note = _segments(summary.channel, words(delivery))
            lines.append(Line(delivery.created_at, delivery=delivery, run=run, segments=note))
        part = request.headers.get("HX-Request") == "true"
        return self._stage.page(
            request,
            "conversation_live.html" if part else "conversation.html",
            title=summary.title,
            summary=summary,
            lines=sorted(lines, key=lambda line: line.at),
            takeover=next((t for t in await self._stage.ledger.takeovers() if t.conversation_key == key), None),
        )

    async def run(self, request: web.Request) -> web.Response:
        """The run behind a reply: prompt parts, steps, tool calls, cost in tokens and time."""
        key, wanted = request.query.get("key", ""), request.query.get("run", "")
        for run in await self._stage.ledger.runs(key, SHOWN * 10):
            if run.id == wanted:
                return self._stage.page(request, "run.html", title="Run", run=run, key=key)
        raise NotFound("There is no such run.", fix="It may be older than what is shown.")

    async def explain(self, request: web.Request) -> web.Response:
        """Every decision about one message, made again."""
        stored = await self._stage.ledger.message(request.query.get("message", ""))
        connections = {c.id: c for c in await self._stage.ledger.connections()}
        registry: Registry = self._stage.registry
        steps: list[Step] = await explain_stored(
            stored, connections.get(stored.message.connection_id), self._stage.ledger, registry
        )
        return self._stage.page(
            request, "explain.html", title="Explained", steps=steps, stored=stored, key=stored.message.conversation.key
        )

    async def step_in(self, request: web.Request) -> web.Response:
        """Answer as a person from now on."""
        key, person = await self._key(request), request[PERSON]
        await self._stage.ledger.conversation(key)
        await self._stage.ledger.step_in(key, person.name)
        await self._stage.note(person, "step in", key)
        await self._stage.reload()
        return self._back(request, key, "You answer here now; the agent is paused.")

    async def hand_back(self, request: web.Request) -> web.Response:
        """Let the agent answer again."""
        key, person = await self._key(request), request[PERSON]
        await self._stage.ledger.hand_back(key)
        await self._stage.note(person, "hand back", key)
        await self._stage.reload()
        return self._back(request, key, "The agent answers again.")

    async def say(self, request: web.Request) -> web.Response:
        """Say something as a person, through the channel's own renderer."""
        form, person = await request.post(), request[PERSON]
        key, text = str(form.get("key", "")), str(form.get("text", "")).strip()
        summary = await self._stage.ledger.conversation(key)
        if not text:
            raise NothingSaid("There is nothing to say.", fix="Write something first.")
        opened = self._stage.connections.get(summary.conversation.connection_id)
        if opened is None:
            raise NotOpen("The connection is not open.", fix="Look at it on the Connections page.")
        calls = opened.adapter.render(
            OutboundMessage(conversation=summary.conversation, text=text, scope=summary.scope, purpose="reply")
        )
        await self._stage.ledger.say(summary.conversation, [Piece(call) for call in calls])
        await self._stage.note(person, "say", key, after=text)
        return self._back(request, key)

    async def _key(self, request: web.Request) -> str:
        return str((await request.post()).get("key", ""))

    def _back(self, request: web.Request, key: str, message: str = "") -> web.Response:
        target = URL(f"{BASE}/conversation").with_query(key=key)
        return self._stage.back(request, str(target).removeprefix(f"{BASE}/"), message)


def words(delivery: Delivery) -> str:
    """What a delivery says, whatever its channel calls it."""
    for name in ("text", "caption", "body", "Body", "fallback"):
        value = delivery.call.params.get(name)
        if isinstance(value, str) and value:
            return value
    return f"[{delivery.call.method}]"


def _said(stored: StoredMessage) -> str:
    message = stored.message
    if message.action is not None:
        return f"[pressed] {message.action.value or message.action.id}"
    files = " ".join(f"[{a.kind}{f': {a.name}' if a.name else ''}]" for a in message.attachments)
    return f"{message.text} {files}".strip() or f"[{message.kind}]"


def _segments(channel: str, text: str) -> str:
    """What an SMS costs, as the provider counts it."""
    if channel != "sms":
        return ""
    counted = segments(text)
    return f"{counted.count} segment{'s' if counted.count != 1 else ''}"
