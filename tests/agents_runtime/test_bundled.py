"""The packages that ship: whole, within their budget, and able to pass their own benchmarks without a model."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agents_runtime.benchmarks import Benchmarks, Case
from agents_runtime.extractive import ExtractiveModel
from agents_runtime.loader import load_package
from agents_runtime.package import AgentPackage
from agents_runtime.prompt import build_prompt
from agents_runtime.registry import Registry, Root, bundled_root
from agents_runtime.state import state_dir
from agents_runtime.tools import BUILT_IN
from agents_runtime.tools.grants import grants_for
from agents_runtime.toolset import Toolset
from channels.message import Conversation
from channels.registry import load

PACKAGES = [entry.id for entry in Registry([Root(bundled_root(), "bundled")]).entries()]
CHANNELS = ["telegram", "slack", "whatsapp", "sms"]
FRONT_DESK = load_package(bundled_root() / "front-desk", "bundled")


def cases(package: AgentPackage) -> list[Case]:
    files = [skill.directory / "benchmarks.json" for skill in package.skills.values()]
    return [case for file in files for case in Benchmarks.model_validate_json(file.read_text()).cases]


def test_the_front_desk_ships() -> None:
    assert "front-desk" in PACKAGES


@pytest.mark.parametrize("name", PACKAGES)
def test_every_bundled_agent_can_run(name: str) -> None:
    (entry,) = [e for e in Registry([Root(bundled_root(), "bundled")]).entries(BUILT_IN) if e.id == name]
    package = load_package(bundled_root() / name, "bundled")

    assert (entry.problem, entry.status) == ("", "production")
    assert (package.directory / "README.md").is_file()
    assert all((package.directory / "state" / file).is_file() for file in package.manifest.state_files)
    assert cases(package)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_skill_is_written_as_the_standard_wants_it(name: str) -> None:
    for file in (bundled_root() / name / "skills").glob("*/SKILL.md"):
        head = re.fullmatch(r"---\nname: (.+)\ndescription: (.+)\n---\n\n#.*", file.read_text(), re.DOTALL)
        assert head is not None, file
        assert head[1] == file.parent.name
        assert len(head[2]) <= 1024


@pytest.mark.parametrize("case", cases(FRONT_DESK), ids=lambda case: case.name)
def test_the_front_desk_passes_its_benchmarks_word_for_word(case: Case) -> None:
    answer = ExtractiveModel(FRONT_DESK).answer(case.input)

    for text in case.expect.contains:
        assert text in answer
    for pattern in case.expect.matches:
        assert re.search(pattern, answer)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("how much is a mug?", "14.00"),
        ("what are your prices", "A mug costs"),
        ("can I pay by card", "debit and credit cards"),
        ("do you have gift cards", "valid for three years"),
        ("do you ship abroad", "We don't ship abroad."),
        ("my bowl arrived broken", "Send a photo"),
        ("where is my parcel", "tracking link"),
        ("cancel my order", "until it is packed"),
        ("what time do you close today", "18:00"),
    ],
)
def test_the_front_desk_answers_what_people_ask(question: str, part: str) -> None:
    assert part in ExtractiveModel(FRONT_DESK).answer(question)


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_whole_request_with_three_tools_stays_small(channel: str) -> None:
    tools = Toolset({name: BUILT_IN[name] for name in ("execute_skill", "read", "write_file")})
    prompt = build_prompt(FRONT_DESK, manner=load(channel).manner, now=datetime(2026, 3, 2, tzinfo=UTC))

    assert sum(part.tokens for part in prompt.parts) + tools.tokens < 2_000


def test_the_front_desk_may_only_run_its_skills_and_read() -> None:
    assert sorted(grants_for(FRONT_DESK, BUILT_IN)) == ["execute_skill", "read"]


def test_nothing_is_written_where_it_is_installed(tmp_path: Path) -> None:
    before = sorted(bundled_root().rglob("*"))
    folder = state_dir(FRONT_DESK, Conversation("shop", "9"), "ann", tmp_path)

    assert folder.is_relative_to(tmp_path)
    assert json.loads((folder / "notes.json").read_text()) == {"notes": []}
    assert sorted(bundled_root().rglob("*")) == before
