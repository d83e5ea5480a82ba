"""What a model saw before, as stored in a session: pydantic_ai messages as JSON, without the prompt.

Valid means: it begins with what a user said, and each tool call is answered in the request that follows it.
Imports pydantic_ai, so it is imported only by what runs a model or rolls a session over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from agents_runtime.images import TOKENS, named

UNREADABLE = "The stored history could not be read, so the conversation starts afresh."
LEFT_OUT = "[What was said before this is no longer shown.]"
_BOOKKEEPING = {"__all__": {"usage", "provider_url", "provider_details", "provider_response_id", "state"}}
"""What a response says about itself: the run's record keeps what counts, and no provider asks for it again."""

KEPT_RESULT = 500
"""Characters kept of a tool's result that is carried over."""


def encode(messages: Sequence[ModelMessage]) -> bytes:
    """The messages as a session stores them, images by name only; empty for none."""
    if not messages:
        return b""
    return ModelMessagesTypeAdapter.dump_json(named(messages), exclude=_BOOKKEEPING, exclude_none=True)


def decode(history: bytes) -> tuple[list[ModelMessage], str]:
    """What `encode` wrote, and an empty string; or nothing and a note that says so where it can't be used."""
    if not history:
        return [], ""
    try:
        messages = ModelMessagesTypeAdapter.validate_json(history)
    except ValueError:
        return [], UNREADABLE
    return (messages, "") if is_valid(messages) else ([], UNREADABLE)


def is_valid(messages: Sequence[ModelMessage]) -> bool:
    """Whether a provider would take these messages before a new request."""
    if not messages:
        return True
    if not _opens(messages[0]):
        return False
    open_calls: set[str] = set()
    for message in messages:
        returned = {p.tool_call_id for p in message.parts if isinstance(p, ToolReturnPart)}
        if returned != open_calls:
            return False
        open_calls = {p.tool_call_id for p in message.parts if isinstance(p, ToolCallPart)}
    return not open_calls


def trim(messages: Sequence[ModelMessage], budget: int) -> list[ModelMessage]:
    """The last exchanges that fit into `budget` tokens, the newest in any case, still valid.

    Long tool results are shortened, thinking is left out, and the first message says that something is missing. An
    exchange that is too long by itself is reduced to what was said, cut to fit.
    """
    kept: list[ModelMessage] = []
    exchanges = _exchanges(messages)
    for exchange in reversed(exchanges):
        short = [_shortened(message) for message in exchange]
        if estimate([*short, *kept]) > budget:
            break
        kept = [*short, *kept]
    if not kept and exchanges:
        kept = _said(exchanges[-1], budget * 4)
    return _marked(kept)


def estimate(messages: Sequence[ModelMessage]) -> int:
    """About how many tokens the messages cost: their characters by four, and what an image costs."""
    return sum(_characters(message) for message in messages) // 4


def _characters(message: ModelMessage) -> int:
    total = 0
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            total += len(part.tool_name) + len(part.args_as_json_str())
        elif isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            total += sum(4 * TOKENS if isinstance(i, BinaryContent) else len(_text(i)) for i in part.content)
        elif isinstance(part, UserPromptPart | TextPart | ThinkingPart | ToolReturnPart):
            total += len(part.content) if isinstance(part.content, str) else len(str(part.content))
    return total


def _opens(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(p, UserPromptPart) for p in message.parts)


def _exchanges(messages: Sequence[ModelMessage]) -> list[list[ModelMessage]]:
    """The messages cut before each thing a user said."""
    exchanges: list[list[ModelMessage]] = []
    for message in messages:
        if _opens(message) or not exchanges:
            exchanges.append([])
        exchanges[-1].append(message)
    return exchanges


def _shortened(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return replace(message, parts=[p for p in message.parts if not isinstance(p, ThinkingPart)])
    return replace(message, parts=[_short_result(p) if isinstance(p, ToolReturnPart) else p for p in message.parts])


def _short_result(part: ToolReturnPart) -> ToolReturnPart:
    result = part.content if isinstance(part.content, str) else str(part.content)
    return ToolReturnPart(part.tool_name, _cut(result, KEPT_RESULT), part.tool_call_id, outcome=part.outcome)


def _said(exchange: Sequence[ModelMessage], characters: int) -> list[ModelMessage]:
    asked = "\n".join(_prompt(p) for p in exchange[0].parts if isinstance(p, UserPromptPart))
    answers = [p.content for m in exchange if isinstance(m, ModelResponse) for p in m.parts if isinstance(p, TextPart)]
    kept: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(_cut(asked, characters // 2))])]
    if answers:
        kept.append(ModelResponse(parts=[TextPart(_cut(answers[-1], characters // 2))]))
    return kept


def _prompt(part: UserPromptPart) -> str:
    return part.content if isinstance(part.content, str) else "\n".join(_text(item) for item in part.content)


def _text(item: UserContent) -> str:
    """An item of what a user said, where it is text."""
    return item.content if isinstance(item, TextContent) else item if isinstance(item, str) else ""


def _marked(messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages, with a first line that says something is missing; said once, however often they were trimmed."""
    if not messages or not isinstance(messages[0], ModelRequest):
        return messages
    rest = [p for p in messages[0].parts if not (isinstance(p, UserPromptPart) and p.content == LEFT_OUT)]
    return [ModelRequest(parts=[UserPromptPart(LEFT_OUT), *rest]), *messages[1:]]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: max(0, limit - 1)]}…"
