"""One Markdown file is an agent, in the dialects people have; nothing in it can widen what is allowed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_runtime.definition import read_definition
from agents_runtime.invalid import AgentInvalid
from agents_runtime.prompt import build_prompt
from agents_runtime.registry import AgentMissing, Registry, Root
from agents_runtime.tools import BUILT_IN
from agents_runtime.tools.files import ListArguments
from agents_runtime.tools.grants import AgentHeldBack, grants_for
from agents_runtime.tools.tool import ToolContext
from tests.agents_runtime.packages import skill, write_package

SCOUT = "---\nname: scout\ndescription: Finds things.\n{more}---\nLook around.\n"


def scout(more: str = "") -> str:
    return SCOUT.format(more=more)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    folder.mkdir()
    return folder


@pytest.fixture
def agents(home: Path) -> Registry:
    return Registry([Root(home, "user")])


def read(more: str) -> tuple[str, ...]:
    return read_definition(scout(more), "scout", "scout.md").manifest.allowed_tools


@pytest.mark.parametrize(
    "tools",
    [
        "tools: Read, Grep, Glob\n",
        "tools: read, find, ls\n",
        "tools: [read, ls]\n",
        "tools:\n- read # to look\n# nothing more\n\n- ls\n",
        "tools:\n  - 'read'\n  - list_files\n",
        "tools: Read, Glob, Write\ndisallowedTools: Write\n",
    ],
)
def test_tools_in_every_way_people_list_them(tools: str) -> None:
    assert read(tools) == ("read", "list_files")


def test_families_and_optional_grants() -> None:
    assert read("tools: reminder.*, weather.*?, Read?\n") == ("reminder.*", "weather.*?", "read?")


def test_a_list_in_brackets_may_have_optional_grants() -> None:
    assert read("tools: [reminder.*?, 'weather.*?', Read]  # all\n") == ("reminder.*?", "weather.*?", "read")


def test_no_tools_named_is_no_tools() -> None:
    assert read("") == ()


def test_everything_that_means_something(agents: Registry, home: Path) -> None:
    fields = (
        "label: The Scout\nmodel: anthropic/claude-x\nmaxTurns: 150\nidleRollover: 1d\nlanguage: French\n"
        "status: draft\ncolor: red\nlifetime: workflow\n"
    )
    (home / "scout.md").write_text(scout(fields) + "On {{today}}, {{later}}.")
    package = agents.get("scout")

    told = package.manifest
    assert (told.label, told.models, told.max_turns) == ("The Scout", ("anthropic:claude-x",), 150)
    assert (told.idle_rollover, told.language, told.status) == ("1d", "French", "draft")
    prompt = build_prompt(package, manner="", now=datetime(2026, 9, 30, tzinfo=UTC)).text
    assert "On 2026-09-30, {{later}}." in prompt


@pytest.mark.parametrize("model", ["inherit", "sonnet", "default"])
def test_a_word_that_names_no_model_pins_none(model: str) -> None:
    assert read_definition(scout(f"model: {model}\n"), "scout", "scout.md").manifest.models == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("---\ndescription: x\n---\nBody", 1, "has no name"),
        ("---\nname: scout\n---\nBody", 1, "has no description"),
        (scout("maxTurns: 5\n"), 4, "maxTurns"),
        (scout("idleRollover: 2d\n"), 4, "idleRollover"),
        (scout("model: mistral/large\n"), 4, "no model 'mistral/large'"),
        (scout("toolz: read\n"), 4, "Did you mean 'tools'"),
        (scout("tools:\n- a: b\n"), 4, "not a name"),
        (scout("tools: Bash(git:*)\n"), 4, "tools"),
        ("---\nname: other\ndescription: x\n---\nBody", 2, "the name is 'other'"),
        ("---\nid: other\nname: Scout\ndescription: x\n---\nBody", 2, "the id is 'other'"),
        ("---\nname: [scout\n---\nBody", 2, "YAML"),
        ("---\nname: scout\ndescription: x\n---\n", 1, "nothing after"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(AgentInvalid) as caught:
        read_definition(text, "scout", "scout.md")
    assert caught.value.line == line
    assert words in str(caught.value)
    assert caught.value.fix


def test_an_unknown_tool_holds_the_agent_back_and_names_the_nearest(agents: Registry, home: Path) -> None:
    (home / "scout.md").write_text(scout("tools: write_fle\n"))
    with pytest.raises(AgentHeldBack, match="Did you mean write_file"):
        grants_for(agents.get("scout"), BUILT_IN)
    (entry,) = agents.entries(BUILT_IN)
    assert "write_fle" in entry.problem


def test_skills_beside_it_become_sub_skills(agents: Registry, home: Path) -> None:
    (home / "scout.md").write_text(scout())
    for path, text in {"compare/SKILL.md": skill("compare"), "cite.md": skill("cite")}.items():
        file = home / "scout" / "skills" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    package = agents.get("scout")
    assert [ref.id for ref in package.manifest.sub_skills] == ["cite", "compare"]
    assert package.manifest.allowed_tools == ("execute_skill",)

    (home / "scout.md").write_text(scout("skills: cite\n"))
    assert [*agents.get("scout").skills] == ["scout", "cite"]
    (home / "scout.md").write_text(scout("skills: []\n"))
    assert [*agents.get("scout").skills] == ["scout"]
    (home / "scout.md").write_text(scout("skills: compair\n"))
    with pytest.raises(AgentInvalid, match="Did you mean 'compare'"):
        agents.get("scout")


def test_listing_files_of_an_agent_without_a_folder_is_no_error(agents: Registry, home: Path, tmp_path: Path) -> None:
    (home / "scout.md").write_text(scout("tools: ls\n"))
    context = ToolContext(agents.get("scout"), tmp_path / "state", run_skill=None)
    assert asyncio.run(BUILT_IN["list_files"].call(context, ListArguments())) == "No files yet."


def test_an_edit_of_the_file_or_of_a_skill_is_seen(agents: Registry, home: Path) -> None:
    (home / "scout.md").write_text(scout())
    first = agents.get("scout").revision
    (home / "scout" / "skills").mkdir(parents=True)
    (home / "scout" / "skills" / "cite.md").write_text(skill("cite"))
    second = agents.get("scout").revision
    (home / "scout.md").write_text(scout("language: German\n"))
    assert len({first, second, agents.get("scout").revision}) == 3


def test_a_folder_with_agent_md(agents: Registry, home: Path) -> None:
    (home / "scout" / "skills").mkdir(parents=True)
    (home / "scout" / "agent.md").write_text("---\nid: scout\nhandle: looker\nname: The Scout\ndescription: x\n---\nHi")
    assert agents.get("scout").manifest.label == "The Scout"
    assert [e.id for e in agents.entries()] == ["scout"]


def test_two_forms_of_one_id_in_one_place_are_neither(agents: Registry, home: Path) -> None:
    write_package(home, "scout")
    (home / "scout.md").write_text(scout())
    with pytest.raises(AgentInvalid, match="Keep one of them"):
        agents.get("scout")
    (entry,) = agents.entries()
    assert "Keep one of them" in entry.problem
    (home / "scout.md").unlink()
    assert agents.entries()[0].problem == ""


def test_a_local_file_hides_the_shared_one_in_a_project_only(tmp_path: Path) -> None:
    (tmp_path / "scout.md").write_text(scout("label: Shared\n"))
    (tmp_path / "scout.local.md").write_text(scout("label: Mine\n"))
    package = Registry([Root(tmp_path, "project")]).get("scout")
    assert (package.manifest.label, package.source, package.hides) == ("Mine", "project-local", ("project",))
    assert Registry([Root(tmp_path, "user")]).get("scout").manifest.label == "Shared"


def test_other_markdown_and_links_are_no_agents(agents: Registry, home: Path, tmp_path: Path) -> None:
    (home / "README.md").write_text("# Agents")
    assert agents.entries() == []
    (tmp_path / "elsewhere.md").write_text(scout())
    (home / "scout.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(AgentInvalid, match="links are not followed"):
        agents.get("scout")
    with pytest.raises(AgentMissing):
        agents.get("README")


@given(st.text(max_size=400))
def test_any_text_is_an_agent_or_told_what_is_wrong(text: str) -> None:
    for whole in (text, f"---\nname: scout\ndescription: x\n{text}\n---\nBody"):
        try:
            definition = read_definition(whole, "scout", "scout.md")
        except AgentInvalid as error:
            assert error.file == "scout.md"
        else:
            assert definition.manifest.id == "scout"
            assert definition.body
