"""Rehearsing a package before it is live: its own cases, on the real runner and a channel's renderer."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ulid import ULID

from agents_runtime.benchmarks import Benchmarks, Case, Expectation
from agents_runtime.json_files import read_json
from agents_runtime.manifest import Manifest
from agents_runtime.package import AgentPackage
from agents_runtime.run import NoJournal, Run, RunRequest, RunResult
from agents_runtime.skill import Skill
from agents_runtime.state import scratch_state
from agents_runtime.tree import read_text
from channels.adapter import Adapter, Call, Channel, OpenConnection
from channels.errors import PostroomError
from channels.message import Conversation, InboundMessage, OutboundMessage, Sender

JUDGE = """\
You judge an answer by one criterion. The criterion, what was asked and the answer follow.
Say "yes" if the answer meets the criterion, else "no" and why, in one short sentence."""

CHAT = "15550142"
"""A chat id that every channel can render: nothing is sent to it."""

UNJUDGED = "not judged: no model is configured"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case went. `reasons` say what was not as expected; `unjudged` that a criterion was left open."""

    skill: str
    name: str
    passed: bool
    reasons: tuple[str, ...]
    answer: str
    steps: int
    tokens: int
    seconds: float
    unjudged: bool = False


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """All cases of one revision of a package."""

    revision: str
    channel: str
    cases: tuple[CaseResult, ...]

    @property
    def passed(self) -> bool:
        """Whether there are cases, and all of them passed."""
        return bool(self.cases) and all(case.passed for case in self.cases)


async def rehearse(package: AgentPackage, channel: Channel, run: Run) -> Rehearsal:
    """Run every case of a package's skills, one after the other. Raises AgentInvalid for a malformed file."""
    results: list[CaseResult] = []
    settings = channel.settings.model_construct()
    placeholders = {secret.name: "1:rehearsal" for secret in channel.secrets}
    async with channel.open(OpenConnection("rehearsal", settings, placeholders)) as adapter:
        for skill, case in _cases(package):
            results.append(await _run_case(_as_entry(package, skill), skill, case, channel, adapter, run))
    return Rehearsal(package.revision, channel.name, tuple(results))


def judge_expectation(
    expect: Expectation, result: RunResult, changed: frozenset[str], calls: list[Call]
) -> Iterator[str]:
    """What is not as expected, in words. Pure; a criterion in words is not looked at here."""
    text = result.text
    for wanted in expect.contains:
        if wanted.lower() not in text.lower():
            yield f"the answer does not contain '{wanted}'"
    for pattern in expect.matches:
        if not re.search(pattern, text):
            yield f"the answer does not match /{pattern}/"
    tools = [call.tool for step in result.steps for call in step.tool_calls]
    if expect.tool_called and expect.tool_called not in tools:
        yield f"{expect.tool_called} was not called; called were: {', '.join(dict.fromkeys(tools)) or 'none'}"
    if expect.state_file_changed and expect.state_file_changed.removeprefix("state/") not in changed:
        yield f"{expect.state_file_changed} did not change"
    if expect.max_steps and len(result.steps) > expect.max_steps:
        yield f"it took {len(result.steps)} steps, {expect.max_steps} are allowed"
    if result.outcome == "step_limit":
        yield "it ran out of steps"
    if text and not calls:
        yield "the channel has no way to say this answer"


async def _run_case(
    package: AgentPackage, skill: Skill, case: Case, channel: Channel, adapter: Adapter, run: Run
) -> CaseResult:
    started = time.perf_counter()
    conversation = Conversation("rehearsal", CHAT)
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        state = Path(folder) / "state"
        scratch_state(package, state)
        before = _contents(state)
        request = RunRequest(
            agent=package,
            messages=(_said(conversation, channel, case.input),),
            history=b"",
            state_dir=state,
            manner=channel.manner,
            now=datetime.now(UTC).astimezone(),
            journal=NoJournal(),
        )
        try:
            result = await run(request)
        except PostroomError as error:
            seconds = time.perf_counter() - started
            return CaseResult(skill.name, case.name, False, (str(error),), "", 0, 0, seconds)
        after = _contents(state)
    changed = frozenset(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    calls = adapter.render(OutboundMessage(conversation=conversation, text=result.text)) if result.text else []
    reasons = [*judge_expectation(case.expect, result, changed, calls)]
    unjudged = False
    if case.expect.judge:
        unjudged = result.model == "extractive"
        if not unjudged:
            reasons += await _judge(case, result.text, request, run)
    return CaseResult(
        skill=skill.name,
        name=case.name,
        passed=not reasons,
        reasons=(*reasons, *([UNJUDGED] if unjudged else [])),
        answer=result.text,
        steps=len(result.steps),
        tokens=result.input_tokens + result.output_tokens,
        seconds=time.perf_counter() - started,
        unjudged=unjudged,
    )


async def _judge(case: Case, answer: str, request: RunRequest, run: Run) -> list[str]:
    """Put the criterion to the agent's own models, as an agent without tools."""
    name = "rehearsal-judge"
    manifest = Manifest(
        schema_version=1,
        id=name,
        label="Judge",
        description="Judges answers.",
        entry_skill=name,
        models=request.agent.manifest.models,
    )
    skill = Skill(name, "Judges answers.", JUDGE, request.agent.directory)
    judge = AgentPackage(manifest, request.agent.directory, request.agent.source, {name: skill}, name)
    text = f"Criterion: {case.expect.judge}\n\nAsked:\n{case.input}\n\nAnswer:\n{answer}"
    asked = replace(request.messages[0], text=text)
    try:
        verdict = (await run(replace(request, agent=judge, messages=(asked,)))).text.strip()
    except PostroomError as error:
        return [f"could not be judged: {error}"]
    return [] if verdict.lower().startswith("yes") else [f"judged: {verdict[:300] or 'no'}"]


def _cases(package: AgentPackage) -> Iterator[tuple[Skill, Case]]:
    for skill in package.skills.values():
        path = f"skills/{skill.name}/benchmarks.json"
        if (package.directory / path).is_file():
            for case in read_json(Benchmarks, read_text(package.directory, path), path).cases:
                yield skill, case


def _as_entry(package: AgentPackage, skill: Skill) -> AgentPackage:
    """The package with a skill in front: a sub-skill's cases are about the sub-skill."""
    if skill is package.entry:
        return package
    manifest = package.manifest.model_copy(update={"entry_skill": skill.name})
    return replace(package, manifest=manifest, revision=f"{package.revision}:{skill.name}")


def _said(conversation: Conversation, channel: Channel, text: str) -> InboundMessage:
    return InboundMessage(
        id=str(ULID()),
        connection_id=conversation.connection_id,
        channel=channel.name,
        kind="message",
        dedupe_keys=(),
        conversation=conversation,
        scope="dm",
        sender=Sender("rehearsal", name="Rehearsal"),
        text=text,
    )


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
