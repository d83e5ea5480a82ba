"""Rehearsing with a model: tools, state, a criterion in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents_runtime.loader import load_package
from agents_runtime.run import ModelFailed, RunRequest, RunResult, StepRecord, ToolCallRecord
from builder_skill.rehearsal import rehearse
from channels.registry import CHANNELS, load
from tests.agents_runtime.packages import skill, write_package

CASES = {
    "cases": [
        {
            "name": "notes",
            "input": "Note this.",
            "expect": {"toolCalled": "write_file", "stateFileChanged": "log.json", "judge": "It is short."},
        }
    ]
}


async def model(request: RunRequest) -> RunResult:
    """Writes what it is told, answers with a table, and judges by the length of what it is shown."""
    said = request.messages[0].text
    if request.agent.id == "rehearsal-judge":
        text = "yes" if "Noted" in said else "no, it says nothing"
        return RunResult("answered", text, b"", "test")
    (request.state_dir / "log.json").write_text(json.dumps(said))
    call = ToolCallRecord("write_file", {}, "ok", True, 0.0)
    return RunResult(
        "answered", "**Noted**\n\n| a |\n|---|\n| b |", b"", "test", (StepRecord("test", 5, 2, 0.0, (call,)),)
    )


@pytest.mark.parametrize("channel", CHANNELS)
async def test_tools_state_and_a_criterion_on_every_channel(tmp_path: Path, channel: str) -> None:
    folder = write_package(tmp_path, files={"skills/desk/benchmarks.json": json.dumps(CASES)})
    found = await rehearse(load_package(folder, "user"), load(channel), model)
    assert found.passed, found.cases
    assert not (folder / "state").exists()


async def test_what_a_judge_does_not_like_fails(tmp_path: Path) -> None:
    async def silent(request: RunRequest) -> RunResult:
        result = await model(request)
        return result if request.agent.id == "rehearsal-judge" else RunResult("answered", "Hm.", b"", "test")

    folder = write_package(tmp_path, files={"skills/desk/benchmarks.json": json.dumps(CASES)})
    (case,) = (await rehearse(load_package(folder, "user"), load("sms"), silent)).cases
    assert case.reasons[-1] == "judged: no, it says nothing"


async def test_a_model_that_fails_fails_its_case_and_not_the_others(tmp_path: Path) -> None:
    async def failing(request: RunRequest) -> RunResult:
        if request.messages[0].text == "Note this.":
            raise ModelFailed("No answer.", passing=True)
        return await model(request)

    other = {"cases": [*CASES["cases"], {"name": "again", "input": "Note that."}]}
    folder = write_package(tmp_path, files={"skills/desk/benchmarks.json": json.dumps(other)})
    found = await rehearse(load_package(folder, "user"), load("telegram"), failing)
    assert [(c.name, c.passed) for c in found.cases] == [("notes", False), ("again", True)]
    assert not found.passed


async def test_a_sub_skill_is_rehearsed_as_itself(tmp_path: Path) -> None:
    seen: list[str] = []

    async def noting(request: RunRequest) -> RunResult:
        seen.append(request.agent.entry.name)
        return await model(request)

    files = {
        "skills/orders/SKILL.md": skill("orders"),
        "skills/orders/benchmarks.json": '{"cases": [{"name": "x", "input": "y"}]}',
    }
    folder = write_package(tmp_path, files=files, subSkills=[{"id": "orders"}])
    assert (await rehearse(load_package(folder, "user"), load("telegram"), noting)).passed
    assert seen == ["orders"]
