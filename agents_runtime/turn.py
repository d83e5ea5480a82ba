"""One turn of one agent: its prompt, what was said before, the steps, and what comes out of them.

Imports pydantic_ai, so it is imported only by what runs a model.
"""

from __future__ import annotations

from functools import partial

from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from agents_runtime.failures import InputTooLong
from agents_runtime.history import decode, encode, estimate, trim
from agents_runtime.images import Room, Seen, see, see_again
from agents_runtime.loop import Loop, Speaker
from agents_runtime.prompt import Prompt, build_prompt, build_skill_prompt
from agents_runtime.run import RunRequest, RunResult
from agents_runtime.runner import ReadyAgent
from agents_runtime.skill import Skill
from agents_runtime.tools.grants import narrow
from agents_runtime.tools.tool import ToolError
from agents_runtime.toolset import Toolset
from agents_runtime.user_turn import user_turn
from channels.message import Button

CONTINUE = Button(id="continue", label="Continue", value="continue")
"""Under an answer that ran out of steps. Pressed, the next turn says "continue" and goes on from where it stopped."""

TIGHT = 1_000
"""Tokens of history shown to a model that could not read it whole."""

PROMPTS = 64
"""Prompts kept of one agent: its skills by the channels it is on, for a day or two."""

TRIMMED = "The model could not read the whole conversation, so it was shown the last exchanges only."


async def answer(request: RunRequest, ready: ReadyAgent) -> RunResult:
    """Run the turn. Raises ModelFailed, and what the journal raises."""
    before, note = decode(request.history)
    room = Room()
    seen = await see(request.messages, request.inbox, room)
    before = await see_again(before, request.inbox, room)
    notes = [*([note] if note else []), *seen.notes]
    try:
        return await _run(request, ready, seen, before, notes)
    except InputTooLong:
        if not before:
            raise
        # A model with a small window would otherwise fail on every message until the session rolls over. Effects that
        # already happened are in the journal.
        return await _run(request, ready, seen, trim(before, TIGHT), [*notes, TRIMMED])


async def _run(
    request: RunRequest, ready: ReadyAgent, seen: Seen, before: list[ModelMessage], notes: list[str]
) -> RunResult:
    said = ModelRequest(parts=[UserPromptPart(seen.content(user_turn(request.messages)))])
    messages = [*before, said]
    entry = request.agent.entry
    prompt, tools = _prompt(request, ready, entry), _tools(ready, entry)
    loop = Loop(
        request,
        ready.chain,
        partial(_sub_skill, request, ready),
        limit=request.agent.manifest.max_turns,
        images=seen.images,
    )
    ending = await loop.converse(Speaker(prompt.text, tools, entry), messages)
    steps = loop.steps
    return RunResult(
        outcome=ending.outcome,
        text="\n\n".join([ending.text, *(aside.text for aside in loop.asides)]).strip(),
        history=encode(loop.shown(messages)),
        model=loop.model,
        steps=steps,
        buttons=(
            *(button for aside in loop.asides for button in aside.buttons),
            *((CONTINUE,) if ending.outcome == "step_limit" else ()),
        ),
        prompt_parts=(
            *((part.name, part.tokens) for part in prompt.parts),
            ("tool schemas", tools.tokens),
            ("history", estimate(before)),
            ("messages", estimate([said])),
        ),
        input_tokens=sum(step.input_tokens for step in steps),
        output_tokens=sum(step.output_tokens for step in steps),
        notes=(*notes, *loop.notes),
    )


def _sub_skill(request: RunRequest, ready: ReadyAgent, name: str, caller: Speaker) -> Speaker:
    """The speaker for a sub-skill: its body as the prompt, the agent's tools as far as the skill narrows them."""
    package = request.agent
    named = caller.skill.sub_skills if caller.depth else [ref.id for ref in package.manifest.sub_skills]
    there = [skill for skill in named if skill in package.skills]
    if name not in there:
        raise ToolError(
            f"There is no sub-skill '{name}' here.",
            fix=f"Choose one of: {', '.join(there)}." if there else "Do this step yourself.",
        )
    skill = package.skills[name]
    return Speaker(_prompt(request, ready, skill).text, _tools(ready, skill), skill, caller.depth + 1)


def _tools(ready: ReadyAgent, skill: Skill) -> Toolset:
    """What a skill may use of the agent's tools."""
    if skill.name not in ready.toolsets:
        allowed = skill.allowed_tools
        ready.toolsets[skill.name] = Toolset(ready.granted if allowed is None else narrow(ready.granted, allowed))
    return ready.toolsets[skill.name]


def _prompt(request: RunRequest, ready: ReadyAgent, skill: Skill) -> Prompt:
    """A skill's prompt: the same all day on one channel, so it is made once."""
    package, manner, now = request.agent, request.manner, request.now
    key = (skill.name, manner, f"{now:%Y-%m-%d %Z}")
    if key not in ready.prompts:
        if len(ready.prompts) >= PROMPTS:
            ready.prompts.clear()
        ready.prompts[key] = (
            build_prompt(package, manner=manner, now=now)
            if skill is package.entry
            else build_skill_prompt(package, skill, manner=manner, now=now)
        )
    return ready.prompts[key]
