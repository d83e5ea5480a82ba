"""What a run needs in a test: an agent, a request, a journal in memory, and models that are functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents_runtime.manifest import Manifest, SubSkillRef
from agents_runtime.models import NamedModel
from agents_runtime.package import AgentPackage
from agents_runtime.run import RunRequest
from agents_runtime.skill import Skill
from agents_runtime.tools.tool import AnyTool, Tool, ToolContext
from channels.message import Conversation, InboundMessage, Sender

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class MemoryJournal:
    """A turn's journal; `lost` makes every write fail, as when another worker took the turn over."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}
        self.lost: Exception | None = None

    async def lookup(self, key: str) -> str | None:
        return self.entries.get(key)

    async def record(self, key: str, result: str) -> None:
        if self.lost is not None:
            raise self.lost
        self.entries[key] = result


class Note(BaseModel):
    """Arguments of the tools below."""

    text: str


def tool(name: str, act: Callable[[str], Any] | None = None, *, side_effect: bool = False) -> AnyTool:
    """A tool that answers with its own name and argument, or with what `act` returns or raises."""

    async def call(_context: ToolContext, arguments: Note) -> str:
        if act is None:
            return f"{name} did {arguments.text}"
        result = act(arguments.text)
        return str(await result if hasattr(result, "__await__") else result)

    return Tool(name, f"Does {name}.", Note, call, side_effect)


def tools(*given: AnyTool) -> dict[str, AnyTool]:
    """Tools by name, as the runner takes them."""
    return {t.name: t for t in given}


def package(
    body: str = "Answer briefly.",
    *,
    skills: Sequence[Skill] = (),
    entry_tools: tuple[str, ...] | None = None,
    **manifest: Any,
) -> AgentPackage:
    """A production agent `shop` whose entry skill has this body; `skills` are its sub-skills.

    `entry_tools` are the entry skill's own allowed-tools; everything else goes into the manifest.
    """
    fields = {
        "id": "shop",
        "label": "Corner shop",
        "description": "Answers for the corner shop.",
        "entry_skill": "desk",
        "status": "production",
        "sub_skills": tuple(SubSkillRef(id=s.name, description=s.description) for s in skills),
        **manifest,
    }
    entry = Skill("desk", "The desk.", body, Path("/nowhere/skills/desk"), entry_tools)
    every = {"desk": entry, **{s.name: s for s in skills}}
    return AgentPackage(Manifest(schema_version=1, **fields), Path("/nowhere"), "user", every, revision=f"{hash(body)}")


def skill(name: str, body: str, **fields: Any) -> Skill:
    """A sub-skill."""
    return Skill(name, f"Does {name}.", body, Path(f"/nowhere/skills/{name}"), **fields)


def message(text: str = "hello", **fields: Any) -> InboundMessage:
    """A message from Ann in a private chat."""
    plain = InboundMessage(
        id="01",
        connection_id="shop",
        channel="telegram",
        kind="message",
        dedupe_keys=("1",),
        conversation=Conversation("shop", "9"),
        scope="dm",
        sender=Sender("u1", "Ann"),
        text=text,
    )
    return replace(plain, **fields)


def request(agent: AgentPackage, *said: InboundMessage | str, history: bytes = b"", **fields: Any) -> RunRequest:
    """A turn for an agent."""
    plain = RunRequest(
        agent=agent,
        messages=tuple(message(m) if isinstance(m, str) else m for m in said or ("hello",)),
        history=history,
        state_dir=Path("/nowhere/state"),
        manner="Write short messages.",
        now=NOON,
        journal=MemoryJournal(),
    )
    return replace(plain, **fields)


Turn = str | ModelResponse | Callable[[list[ModelMessage], AgentInfo], ModelResponse]


def calls(*wanted: tuple[str, Any], text: str = "") -> ModelResponse:
    """An answer that calls tools: (name, arguments) each."""
    parts: list[Any] = [TextPart(text)] if text else []
    parts += [ToolCallPart(name, args, tool_call_id=f"c{n}") for n, (name, args) in enumerate(wanted)]
    return ModelResponse(parts=parts)


class FunctionModels:
    """Models for a runner: one that answers from a list, in order, and remembers what it was asked."""

    def __init__(self, *script: Turn, image_bytes: int = 0) -> None:
        self.script = list(script)
        self.image_bytes = image_bytes
        self.asked: list[list[ModelMessage]] = []
        self.infos: list[AgentInfo] = []

    def chain(self, package: AgentPackage) -> tuple[NamedModel, ...]:
        return (NamedModel("test", FunctionModel(self._answer), self.image_bytes),)

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append(list(messages))
        self.infos.append(info)
        turn = self.script.pop(0)
        if isinstance(turn, str):
            return ModelResponse(parts=[TextPart(turn)] if turn else [])
        return turn if isinstance(turn, ModelResponse) else turn(messages, info)

    def results(self, step: int) -> list[str]:
        """The tool results the model was shown at a step, counted from 0."""
        return [str(p.content) for p in self.asked[step][-1].parts if p.part_kind == "tool-return"]

    def said(self, step: int) -> str:
        """The user text the model was shown last at a step."""
        return "\n".join(str(p.content) for p in self.asked[step][-1].parts if p.part_kind == "user-prompt")
