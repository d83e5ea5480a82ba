"""What is stored of a conversation, read back, checked and trimmed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from agents_runtime.history import KEPT_RESULT, LEFT_OUT, UNREADABLE, decode, encode, estimate, is_valid, trim


def asked(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def said(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], usage=RequestUsage(input_tokens=9), model_name="m")


def looked(number: int, result: str) -> list[ModelMessage]:
    """A step that called a tool, and what it returned."""
    call = ToolCallPart("read", {"path": f"{number}.md"}, tool_call_id=f"c{number}")
    back = ToolReturnPart("read", result, tool_call_id=f"c{number}")
    return [ModelResponse(parts=[ThinkingPart("hm"), call]), ModelRequest(parts=[back])]


@st.composite
def conversations(draw: st.DrawFn) -> list[ModelMessage]:
    """Valid histories: what users said, any number of tool steps each, and mostly an answer."""
    messages: list[ModelMessage] = []
    number = 0
    for _ in range(draw(st.integers(0, 6))):
        messages.append(asked(draw(st.text(max_size=300))))
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            messages += looked(number, draw(st.text(max_size=2_000)))
        if draw(st.booleans()):
            messages.append(said(draw(st.text(min_size=1, max_size=300))))
    return messages


@given(conversations())
def test_what_is_stored_is_read_back(messages: list[ModelMessage]) -> None:
    back, note = decode(encode(messages))

    assert note == ""
    assert [[(p.part_kind, getattr(p, "content", None)) for p in m.parts] for m in back] == [
        [(p.part_kind, getattr(p, "content", None)) for p in m.parts] for m in messages
    ]


@given(conversations(), st.integers(50, 2_000))
def test_a_trimmed_history_is_valid_fits_and_ends_with_the_newest(messages: list[ModelMessage], budget: int) -> None:
    kept = trim(messages, budget)

    assert is_valid(kept)
    assert bool(kept) == bool(messages)
    assert estimate(kept) <= budget + len(LEFT_OUT)
    assert decode(encode(kept))[1] == ""
    if kept:
        assert kept[0].parts[0].content == LEFT_OUT  # type: ignore[union-attr]
        assert trim(kept, budget)[0].parts.count(kept[0].parts[0]) <= 1
        newest = next(m for m in reversed(messages) if isinstance(m, ModelRequest) and _prompt(m) is not None)
        assert any((_prompt(newest) or "")[: budget // 4] in (_prompt(m) or "") for m in kept)


def _prompt(message: ModelMessage) -> str | None:
    found = [str(p.content) for p in message.parts if isinstance(p, UserPromptPart) and p.content != LEFT_OUT]
    return found[-1] if found else None


def test_trimming_shortens_results_and_drops_thinking_but_keeps_pairs() -> None:
    history = [asked("old" * 4_000), said("answer"), asked("read it"), *looked(1, "z" * 5_000), said("Read.")]
    kept = trim(history, 1_000)

    kinds = [p.part_kind for m in kept for p in m.parts]
    assert kinds == ["user-prompt", "user-prompt", "tool-call", "tool-return", "text"]
    result = kept[2].parts[0]
    assert isinstance(result, ToolReturnPart)
    assert len(str(result.content)) == KEPT_RESULT


def test_an_exchange_too_long_by_itself_is_reduced_to_what_was_said() -> None:
    steps = [m for n in range(20) for m in looked(n, "z" * 400)]
    kept = trim([asked("count them"), *steps, said("Twenty.")], 200)

    assert [p.part_kind for m in kept for p in m.parts] == ["user-prompt", "user-prompt", "text"]
    assert [p.content for p in kept[-1].parts] == ["Twenty."]  # type: ignore[union-attr]


def test_the_store_holds_neither_usage_nor_provider_bookkeeping() -> None:
    stored = encode([asked("hi"), said("hello")])

    assert b"usage" not in stored
    assert b"hello" in stored


CALL, BACK = looked(1, "x")


@pytest.mark.parametrize(
    "broken",
    [
        b"not json",
        b"{}",
        b'[{"kind":"request","parts":[{"part_kind":"from-the-future","content":"x"}]}]',
        encode([said("an answer to nothing")]),
        encode([asked("hi"), CALL]),
        encode([asked("hi"), BACK]),
        encode([asked("hi"), CALL, said("forgot the result")]),
        encode([asked("hi"), CALL, asked("again")]),
    ],
)
def test_a_history_no_provider_would_take_is_left_out_and_said(broken: bytes) -> None:
    assert decode(broken) == ([], UNREADABLE)


def test_an_empty_history_is_nothing_to_remark_on() -> None:
    assert decode(b"") == ([], "")
    assert encode([]) == b""
    assert trim([], 100) == []
