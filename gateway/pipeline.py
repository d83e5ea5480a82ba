"""The way of a message, top to bottom: take it in, answer it, deliver the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

import structlog
from pydantic import TypeAdapter
from ulid import ULID

from agents_runtime.loader import AgentInvalid
from agents_runtime.package import AgentPackage
from agents_runtime.registry import AgentMissing, Registry
from agents_runtime.run import ModelFailed, Run, RunRequest, RunResult, StepRecord
from agents_runtime.sessions import carry_over, next_session
from agents_runtime.tools.grants import AgentHeldBack
from builder_skill.system_skill import AGENT_ID
from channels.errors import ConversationMoved, PostroomError, SendRefused, SendRetry
from channels.message import Attachment, InboundMessage, OutboundMessage
from gateway import metrics
from gateway.approvals import Approvals
from gateway.attachments import Attachments
from gateway.brakes import NOTICE, Brakes, Verdict
from gateway.builder import heard
from gateway.connections import Connections, Opened
from gateway.journal import TurnJournal
from gateway.ledger.errors import LeaseLost
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Delivery, Finish, Piece, RunRecord, Session, Turn
from gateway.outgoing import attach
from gateway.pairing import offer
from gateway.patience import until_written
from gateway.routebook import RouteBook
from gateway.settings import Settings
from gateway.sorting import Owned, Sorted, Stranger, sort_turn
from gateway.states import States
from routes.access import CODE
from routes.route import Route

log = structlog.get_logger()

MAX_TURN_ATTEMPTS = 4
MAX_SEND_ATTEMPTS = 12
TURN_BACKOFF = (1.0, 4.0, 15.0)
"""Waits in seconds before a turn whose model or code failed is tried again."""

APOLOGY = "Sorry, I can't answer right now. Your message is kept, and the owner has been told."
TYPING_AFTER = 0.5
TYPING_EVERY = 4.0
"""Telegram shows a typing action for five seconds; a quick answer needs none."""

LONGEST_PACE = 10.0
"""A delivery that has to wait longer than this for its channel's pace goes back in line."""


class Pipeline:
    """Everything between a channel and an agent. It holds no state of its own: the ledger does."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        connections: Connections,
        routes: RouteBook,
        registry: Registry,
        run: Run,
        takes_images: Callable[[AgentPackage], bool],
        states: States,
        settings: Settings,
        statuses: frozenset[str] = frozenset({"production"}),
        approvals: Approvals | None = None,
    ) -> None:
        self._ledger = ledger
        self._connections = connections
        self._routes = routes
        self._registry = registry
        self._run = run
        self._takes_images = takes_images
        self._states = states
        self._statuses = statuses
        self._approvals = approvals
        self._attachments = Attachments(settings.home)
        self._brakes = Brakes()
        self._background: set[asyncio.Task[None]] = set()

    # 1 · in: on disk before the provider is told

    async def take(self, opened: Opened, messages: Sequence[InboundMessage]) -> None:
        """Make what a channel brought durable. Returns only when it is; raises LedgerUnavailable otherwise."""
        events: dict[float, list[InboundMessage]] = {}
        for message in messages:
            if message.status is not None:
                await self._report(opened, message)
            else:
                await self._note_opt_out(message)
                gathering = opened.adapter.limits.gather_seconds if message.group_id else 0.0
                events.setdefault(max(gathering, opened.parsed.debounce_seconds), []).append(message)
        for hold, batch in events.items():
            results = await self._ledger.accept(batch, hold)
            for message, result in zip(batch, results, strict=True):
                metrics.ACCEPTED.labels(message.channel, result).inc()
                log.info("message_accepted", message=message.id, result=result, conversation=message.conversation.key)
                if isinstance(moved_to := message.data.get("moved_to"), str):
                    await self._ledger.move(message.connection_id, message.conversation.chat_id, moved_to)
                if message.action is not None and result == "new":
                    self._soon(self._acknowledge(opened, message))

    # 2 · answer: one turn at a time per conversation

    async def answer(self, turn: Turn) -> None:
        """Route a claimed turn, run its agent, and finish it. Every way out ends in the ledger."""
        structlog.contextvars.bind_contextvars(
            turn=turn.id, message=turn.messages[0].id, conversation=turn.conversation.key
        )
        opened = self._connections.get(turn.conversation.connection_id)
        try:
            if opened is None:
                await self._end(turn, Finish("ignored", ignored=_all(turn, "connection_not_open")))
                return
            if turn.conversation.key in self._routes.taken_over:
                await self._end(turn, Finish("ignored", ignored=_all(turn, "taken_over")))
                return
            if turn.attempt > MAX_TURN_ATTEMPTS:
                await self._try_again(turn, opened, "The process died each time it ran this turn.", passing=False)
                return
            sorted_turn = sort_turn(turn.messages, self._routes.table, opened.connection)
            if sorted_turn.owned is not None and (verdict := self._braked(turn, opened, sorted_turn.owned)).stop:
                pieces = self._pieces(opened, sorted_turn.owned.messages[0], NOTICE) if verdict.tell else []
                ignored = sorted_turn.ignored | dict.fromkeys(sorted_turn.owned.ids, verdict.stop)
                await self._end(turn, Finish("ignored", pieces, ignored, sorted_turn.left))
            elif sorted_turn.owned is None:
                pieces = await self._answer_stranger(turn, opened, sorted_turn.stranger)
                end = Finish("ignored", pieces, sorted_turn.ignored, sorted_turn.left)
                await self._end(turn, end)
            else:
                await self._answer_owned(turn, opened, sorted_turn, sorted_turn.owned)
        except LeaseLost:
            log.warning("turn_taken_over")
        except Exception as error:
            log.exception("turn_failed")
            await self._try_again(turn, opened, f"{type(error).__name__}: {error}", passing=True)

    def _braked(self, turn: Turn, opened: Opened, owned: Owned) -> Verdict:
        """Whether a flood or a loop is answered no more. A turn that is tried again was let through before."""
        if turn.attempt > 1:
            return Verdict(None)
        message = owned.messages[0]
        return self._brakes.check(
            opened.connection.id,
            message.sender.id,
            " ".join(m.text for m in owned.messages),
            per_sender=opened.parsed.sender_limit,
            per_connection=opened.parsed.connection_limit,
            now=time.monotonic(),
        )

    async def _answer_owned(self, turn: Turn, opened: Opened, sorted_turn: Sorted, owned: Owned) -> None:
        try:
            package = self._registry.get(owned.route.agent_id)
            if package.manifest.status not in self._statuses:
                ignored = {**sorted_turn.ignored, **dict.fromkeys(owned.ids, "agent_not_production")}
                await self._end(turn, Finish("ignored", ignored=ignored, left=sorted_turn.left))
                return
            session = await self._ledger.session(turn.conversation, package.id)
            now = time.time()
            verdict = next_session(session, idle_rollover=package.manifest.idle_rollover, now=now)
            history = b"" if session is None else session.history
            messages = tuple([await self._with_files(opened, package, m) for m in owned.messages])
            if self._approvals is not None and package.source == "bundled" and package.id == AGENT_ID:
                messages = await heard(self._approvals, opened.connection, messages)
            async with self._states.open(turn, package, owned.messages[0].sender.id) as state:
                request = RunRequest(
                    agent=package,
                    messages=messages,
                    history=history if verdict == "keep" else carry_over(history, verdict),
                    state_dir=state.folder,
                    guard=state.guard,
                    manner=opened.channel.manner,
                    now=datetime.now(UTC).astimezone(),
                    journal=TurnJournal(self._ledger, turn),
                    inbox=self._attachments.inbox(turn.conversation),
                )
                result = await self._while_typing(opened, owned.messages[0], self._run(request))
                result, files = await self._with_own_files(opened, request, result)
        except (AgentMissing, AgentInvalid, AgentHeldBack) as error:
            await self._try_again(turn, opened, f"{error.code}: {error}", passing=False, sorted_turn=sorted_turn)
            return
        except ModelFailed as error:
            await self._try_again(
                turn, opened, f"{error.code}: {error}", passing=error.passing, sorted_turn=sorted_turn
            )
            return
        kept = session if session is not None and verdict == "keep" else None
        end = Finish(
            outcome="answered",
            pieces=self._pieces(opened, owned.messages[0], result.text, result, files),
            ignored=sorted_turn.ignored,
            left=sorted_turn.left,
            session=Session(
                id=kept.id if kept else str(ULID()),
                conversation=turn.conversation,
                agent_id=package.id,
                history=result.history,
                started_at=kept.started_at if kept else now,
                last_at=time.time(),
            ),
            run=_record(turn, owned.route, result, now),
        )
        await self._end(turn, end)
        self._brakes.answered(opened.connection.id, owned.messages[0].sender.id, time.monotonic())
        metrics.RUN_SECONDS.observe(time.time() - now)
        metrics.TOKENS.labels(package.id, "in").inc(result.input_tokens)
        metrics.TOKENS.labels(package.id, "out").inc(result.output_tokens)

    async def _with_files(self, opened: Opened, package: AgentPackage, message: InboundMessage) -> InboundMessage:
        """Fetch what the agent can use: any file if it reads files, an image if its model takes those.

        What is not fetched stays a line of text.
        """
        reads = package.manifest.reads_files
        if not message.attachments or not (reads or self._takes_images(package)):
            return message
        return await self._attachments.fetch(opened.adapter, message, only_images=not reads)

    async def _with_own_files(
        self, opened: Opened, request: RunRequest, result: RunResult
    ) -> tuple[RunResult, tuple[Attachment, ...]]:
        """The result without the links to files of the agent's own, and those files as they are now."""
        if not request.agent.manifest.reads_files:
            return result, ()
        answer = await attach(
            result.text,
            state_dir=request.state_dir,
            inbox=request.inbox,
            store=self._attachments,
            limits=opened.adapter.limits.files,
        )
        return replace(result, text=answer.text, notes=(*result.notes, *answer.notes)), answer.files

    async def _answer_stranger(self, turn: Turn, opened: Opened, stranger: Stranger | None) -> list[Piece]:
        """Tell a stranger once why they are not answered; one who may be paired is told a code while they have none."""
        if stranger is None:
            return []
        message = stranger.message
        if CODE in stranger.answer:
            code = await offer(self._ledger, stranger.route, message.sender, again=turn.attempt > 1)
            return [] if code is None else self._pieces(opened, message, stranger.answer.replace(CODE, code))
        earlier = await self._ledger.messages(message.conversation.key, limit=50)
        told = any(
            m.message.id != message.id and m.message.sender.id == message.sender.id and m.reason == stranger.reason
            for m in earlier
        )
        return [] if told else self._pieces(opened, message, stranger.answer)

    async def _try_again(
        self, turn: Turn, opened: Opened | None, error: str, *, passing: bool, sorted_turn: Sorted | None = None
    ) -> None:
        try:
            if passing and turn.attempt < MAX_TURN_ATTEMPTS:
                wait = TURN_BACKOFF[min(turn.attempt, len(TURN_BACKOFF)) - 1]
                log.warning("turn_retried", attempt=turn.attempt, after=wait, error=error)
                await until_written(self._ledger.retry, turn, wait, error)
                return
            pieces = [] if opened is None else self._pieces(opened, turn.messages[-1], APOLOGY)
            ignored, left = (sorted_turn.ignored, sorted_turn.left) if sorted_turn else ({}, frozenset[str]())
            await self._end(turn, Finish("dead", pieces, ignored, left, error=error))
        except LeaseLost:
            log.warning("turn_taken_over")

    async def _end(self, turn: Turn, end: Finish) -> None:
        await until_written(self._ledger.finish, turn, end)
        for message in turn.messages:
            if message.id not in end.left:
                reason = end.ignored.get(message.id, "")
                outcome = "ignored" if reason else end.outcome
                metrics.ENDED.labels(message.channel, outcome, reason).inc()
                log.info("message_ended", message=message.id, outcome=outcome, reason=reason or end.error)

    def _pieces(
        self,
        opened: Opened,
        message: InboundMessage,
        text: str,
        result: RunResult | None = None,
        files: tuple[Attachment, ...] = (),
    ) -> list[Piece]:
        """What to say, rendered: each call is a delivery of its own, so that a crash resends one piece and not all."""
        purpose: Literal["reply", "notice"] = "notice" if result is None else "reply"
        calls = opened.adapter.render(
            OutboundMessage(
                conversation=message.conversation,
                text=text,
                attachments=files,
                buttons=() if result is None else result.buttons,
                reply_to=message.message_ref or None,
                purpose=purpose,
                scope=message.scope,
            )
        )
        return [Piece(call, purpose) for call in calls]

    # 3 · out: in order, paced, and told apart when it fails

    async def deliver(self, delivery: Delivery) -> None:
        """Send one delivery and write down what came of it."""
        structlog.contextvars.bind_contextvars(
            delivery=delivery.id, turn=delivery.turn_id, conversation=delivery.conversation.key
        )
        opened = self._connections.get(delivery.conversation.connection_id)
        if opened is None:
            await until_written(self._ledger.postpone, delivery, 30.0, "The connection is not open.", tried=False)
            return
        channel, now = opened.connection.channel, time.monotonic()
        pace = opened.pacer.delay(delivery.call, now)
        if pace > LONGEST_PACE:
            await until_written(self._ledger.postpone, delivery, pace, "Waiting for the channel's pace.", tried=False)
            return
        opened.pacer.sent(delivery.call, now + pace)
        try:
            await asyncio.sleep(pace)
        except asyncio.CancelledError:  # stopping: nothing was sent yet
            await self._ledger.postpone(delivery, 0.0, "", tried=False)
            raise
        try:
            receipt = await opened.adapter.send(delivery.call)
        except SendRetry as error:
            if error.after is not None:
                opened.pacer.refused(delivery.call, error.after, time.monotonic())
            await self._send_again(delivery, channel, str(error), error.after)
        except ConversationMoved as error:
            log.info("conversation_moved", to=error.chat_id)
            await self._ledger.move(delivery.conversation.connection_id, delivery.call.chat_id, error.chat_id)
            await until_written(self._ledger.postpone, delivery, 0.0, str(error), tried=False)
        except SendRefused as error:
            if error.connection_broken:
                await self._connections.mark(opened.connection.id, "needs_attention", str(error))
            await self._give_up(delivery, channel, str(error))
        except Exception as error:
            log.exception("delivery_failed")
            await self._send_again(delivery, channel, f"{type(error).__name__}: {error}", None)
        else:
            await until_written(self._ledger.delivered, delivery, receipt)
            metrics.SENT.labels(channel, "sent").inc()
            log.info("delivered", ref=receipt.provider_ref, note=receipt.note, attempt=delivery.attempt)

    async def _send_again(self, delivery: Delivery, channel: str, error: str, after: float | None) -> None:
        if delivery.attempt >= MAX_SEND_ATTEMPTS:
            await self._give_up(delivery, channel, error)
            return
        wait = after if after is not None else min(60.0, 0.25 * 2 ** (delivery.attempt - 1))
        metrics.SENT.labels(channel, "retried").inc()
        log.warning("delivery_retried", attempt=delivery.attempt, after=wait, error=error)
        await until_written(self._ledger.postpone, delivery, wait, error)

    async def _give_up(self, delivery: Delivery, channel: str, error: str) -> None:
        metrics.SENT.labels(channel, "failed").inc()
        log.error("delivery_dead", attempt=delivery.attempt, error=error)
        await until_written(self._ledger.failed, delivery, error)

    # beside the way: what a provider reports, and what is not worth keeping

    async def _report(self, opened: Opened, message: InboundMessage) -> None:
        update = message.status
        assert update is not None  # noqa: S101 - the caller looked
        if update.subject == "connection":
            await self._connections.mark(opened.connection.id, "needs_attention", update.detail or update.state)
            log.error("connection_needs_attention", connection=opened.connection.id, detail=update.detail)
        elif not await self._ledger.report(opened.connection.id, update):
            log.info("status_without_delivery", ref=update.provider_ref, state=update.state)

    async def _note_opt_out(self, message: InboundMessage) -> None:
        """A STOP or START that the provider answers itself: written down before the message is."""
        opt = message.data.get("opt_out")
        if opt in ("stop", "start"):
            await self._ledger.set_opted_out(message.connection_id, message.sender.id, opt == "stop")

    async def _acknowledge(self, opened: Opened, message: InboundMessage) -> None:
        await self._send_aside(
            opened,
            OutboundMessage(
                conversation=message.conversation, purpose="ack", scope=message.scope, action=message.action
            ),
        )

    async def _while_typing(self, opened: Opened, message: InboundMessage, run: Awaitable[RunResult]) -> RunResult:
        typing = asyncio.create_task(self._type(opened, message))
        try:
            return await run
        finally:
            typing.cancel()

    async def _type(self, opened: Opened, message: InboundMessage) -> None:
        indicator = OutboundMessage(conversation=message.conversation, purpose="typing", scope=message.scope)
        await asyncio.sleep(TYPING_AFTER)
        while True:
            await self._send_aside(opened, indicator)
            await asyncio.sleep(TYPING_EVERY)

    async def _send_aside(self, opened: Opened, message: OutboundMessage) -> None:
        """Send what is worth nothing later; a failure is a log line."""
        for call in opened.adapter.render(message):
            try:
                await opened.adapter.send(call)
            except PostroomError as error:
                log.info("aside_not_sent", method=call.method, error=str(error))

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _all(turn: Turn, reason: str) -> dict[str, str]:
    return dict.fromkeys((m.id for m in turn.messages), reason)


def _record(turn: Turn, route: Route, result: RunResult, started_at: float) -> RunRecord:
    return RunRecord(
        id=str(ULID()),
        turn_id=turn.id,
        conversation=turn.conversation,
        agent_id=route.agent_id,
        route_id=route.id,
        model=result.model,
        outcome=result.outcome,
        steps=len(result.steps),
        input_tokens=result.input_tokens,
        output_tokens=result.output_tokens,
        started_at=started_at,
        finished_at=time.time(),
        detail={
            "attempt": turn.attempt,
            "prompt": [[name, tokens] for name, tokens in result.prompt_parts],
            "steps": _STEPS.dump_python(result.steps, mode="json"),
            "notes": list(result.notes),
        },
    )


_STEPS = TypeAdapter(tuple[StepRecord, ...])
