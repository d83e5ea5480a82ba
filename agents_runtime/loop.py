"""The steps of one run: ask the model, carry out what it calls, and again, until it is done or out of steps.

Our own loop over pydantic_ai's models: see docs/decisions/0003-tool-loop.md. Imports pydantic_ai, so the runner imports
it only once the models are warm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ContentFilterError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    BinaryContent,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters

from agents_runtime.effects import Effects
from agents_runtime.failures import all_failed, model_failed, refuses_input
from agents_runtime.images import has_images, too_large, up_to
from agents_runtime.models import NamedModel
from agents_runtime.run import ModelFailed, Outcome, RunRequest, StepRecord, ToolCallRecord
from agents_runtime.skill import Skill
from agents_runtime.tools.tool import Aside, ToolContext, ToolError
from agents_runtime.toolset import Toolset

log = structlog.get_logger()

SKILL_DEPTH = 3
"""How deep sub-skills may run sub-skills."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a conversation with the model ended, and what it said."""

    outcome: Outcome
    text: str


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who the model is in a conversation: its system prompt, its tools, and the skill these come from."""

    prompt: str
    tools: Toolset
    skill: Skill
    depth: int = 0


SubSkill = Callable[[str, Speaker], Speaker]
"""The speaker for a sub-skill that another one calls by name. Raises ToolError for one it may not call."""


@dataclass(slots=True)
class _Step:
    model: str
    input_tokens: int
    output_tokens: int
    seconds: float
    calls: list[ToolCallRecord] = field(default_factory=list[ToolCallRecord])


class Loop:
    """The steps of one turn, those of its sub-skills included: one budget, one journal, one record."""

    def __init__(
        self,
        request: RunRequest,
        chain: Sequence[NamedModel],
        sub_skill: SubSkill,
        *,
        limit: int,
        images: Sequence[BinaryContent] = (),
    ) -> None:
        """`images` came with the turn's messages: a sub-skill is shown them beside its input."""
        self.notes: list[str] = []
        self.asides: list[Aside] = []
        self._request = request
        self._chain = chain
        self._sub_skill = sub_skill
        self._limit = limit
        self._images = images
        self._refusing: set[str] = set()
        self._at = 0
        self._effects = Effects(request.journal)
        self._steps: list[_Step] = []

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """What happened, in the order in which the model was asked."""
        return tuple(
            StepRecord(s.model, s.input_tokens, s.output_tokens, s.seconds, tuple(s.calls)) for s in self._steps
        )

    @property
    def model(self) -> str:
        """The name of the model that answers now."""
        return self._chain[self._at].name

    def shown(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """The messages with the images that the model which answers now was shown."""
        return up_to(messages, self._image_bytes(self._chain[self._at]))

    async def converse(self, speaker: Speaker, messages: list[ModelMessage]) -> Ending:
        """Go on from `messages`, which grow and stay valid, until the model calls no more tools or steps run out.

        Raises ModelFailed when no model of the list answers, and what the journal raised.
        """
        context = ToolContext(
            agent=self._request.agent,
            state_dir=self._request.state_dir,
            run_skill=lambda name, text: self._run_skill(speaker, name, text),
            inbox=self._request.inbox,
            conversation=self._request.messages[0].conversation,
            show=self.asides.append,
            guard=self._request.guard,
        )
        parameters = ModelRequestParameters(
            function_tools=speaker.tools.definitions, instruction_parts=[InstructionPart(content=speaker.prompt)]
        )
        said: list[str] = []
        while len(self._steps) < self._limit:
            response, step = await self._ask(messages, parameters)
            text = (response.text or "").strip()
            if not response.tool_calls:
                if text:
                    messages.append(response)
                return Ending("answered" if text else "silent", text)
            if text:
                said.append(text)
            messages.append(response)
            outcomes = await speaker.tools.call_all(response.tool_calls, context, self._effects)
            step.calls += [outcome.record for outcome in outcomes]
            messages.append(ModelRequest(parts=[outcome.part for outcome in outcomes]))
        stopped = f"Stopped after {len(self._steps)} steps."
        messages.append(ModelResponse(parts=[TextPart(stopped)]))
        return Ending("step_limit", "\n\n".join([*said, stopped]))

    async def _ask(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> tuple[ModelResponse, _Step]:
        """Ask the model that answered last; when it fails, the next of the list, for the rest of the turn."""
        failures: list[ModelFailed] = []
        for position in range(self._at, len(self._chain)):
            named = self._chain[position]
            started = time.perf_counter()
            try:
                response = await self._ask_one(named, messages, parameters)
            except Exception as error:
                failure = model_failed(named.name, error)
                if failure is None:
                    raise
                # The error itself can quote the key or the whole answer: only its type is logged.
                log.warning("model_failed", model=named.name, error=type(error).__name__, passing=failure.passing)
                failures.append(failure)
                continue
            self._at = position
            self.notes += [f.message for f in failures]
            step = _Step(
                model=named.name,
                input_tokens=response.usage.input_tokens,
                output_tokens=response.usage.output_tokens,
                seconds=time.perf_counter() - started,
            )
            self._steps.append(step)
            return response, step
        raise all_failed(failures)

    async def _ask_one(
        self, named: NamedModel, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> ModelResponse:
        """Ask one model, and again with the text alone where it refuses what it was shown."""
        limit = self._image_bytes(named)
        if named.name not in self._refusing and (missing := too_large(messages, limit)):
            takes = f"images up to {limit / 1e6:g} MB" if limit else "no images"
            self._note(f"The model {named.name} takes {takes}: it was not shown {', '.join(missing)}.")
        shown = up_to(messages, limit)
        try:
            return await _answer(named.model, shown, parameters)
        except Exception as error:
            if not (has_images(shown) and refuses_input(error)):
                raise
            log.info("images_refused", model=named.name, error=type(error).__name__)
        response = await _answer(named.model, up_to(messages, 0), parameters)
        self._refusing.add(named.name)
        self._note(f"The model {named.name} refused the images, so it was given the text alone.")
        return response

    def _image_bytes(self, named: NamedModel) -> int:
        return 0 if named.name in self._refusing else named.image_bytes

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    async def _run_skill(self, caller: Speaker, name: str, text: str) -> str:
        if caller.depth >= SKILL_DEPTH:
            raise ToolError(f"Sub-skills may run at most {SKILL_DEPTH} deep.", fix="Do this step yourself.")
        asked = UserPromptPart([*self._images, text] if self._images else text)
        ending = await self.converse(self._sub_skill(name, caller), [ModelRequest(parts=[asked])])
        return ending.text or "The skill gave no answer."


async def _answer(model: Model, messages: list[ModelMessage], parameters: ModelRequestParameters) -> ModelResponse:
    response = await model_request(model, messages, model_request_parameters=parameters)
    _check(response)
    return response


def _check(response: ModelResponse) -> None:
    """Raise for an answer that is none: cut off before its first word, or held back by a filter."""
    if response.text or response.tool_calls:
        return
    if response.finish_reason == "content_filter":
        raise ContentFilterError("held back")
    if response.finish_reason in {"length", "error"}:
        raise UnexpectedModelBehavior("no answer")
