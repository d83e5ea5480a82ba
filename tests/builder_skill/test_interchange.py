"""Agents from other platforms' files and back: nothing is lost on the way that means something here."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_runtime.invalid import AgentInvalid
from agents_runtime.loader import load_package
from agents_runtime.manifest import Manifest, SubSkillRef
from agents_runtime.package import AgentPackage
from agents_runtime.skill import Skill
from builder_skill.desk import Desk
from builder_skill.interchange import read_foreign, write_foreign
from builder_skill.tools.agent_create import adopt
from channels.errors import PostroomError
from tests.agents_runtime.packages import skill
from tests.builder_skill.workspace.test_secrets import SECRETS

CLAUDE = """---
name: code-reviewer
description: "Reviews code: use it after changes."
tools: Read, Grep, Glob
model: sonnet
color: purple
---

You review code.
"""

PI = """---
name: scout
description: Locates the code that matters
tools: # what it may use
  - read
  - ls # folders
model: anthropic/claude-x
skills: diffing
---
Look around.
"""

AGENT_MD = """---
id: planner
handle: plan
name: Chief of Staff
description: Plans the day.
tools: [reminder.*?, weather.*?, read]
maxTurns: 150
idleRollover: 1d
language: French
---
Today is {{today}}. Plan.
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize(
    ("path", "text", "tools", "models"),
    [
        ("code-reviewer.md", CLAUDE, ("read", "list_files"), ()),
        ("scout.md", PI, ("read", "list_files", "execute_skill"), ("anthropic:claude-x",)),
        ("planner/agent.md", AGENT_MD, ("reminder.*?", "weather.*?", "read"), ()),
        ("whatever.local.md", CLAUDE, ("read", "list_files"), ()),
    ],
)
async def test_each_dialect_becomes_a_valid_package(
    desk: Desk, tmp_path: Path, path: str, text: str, tools: tuple[str, ...], models: tuple[str, ...]
) -> None:
    write(tmp_path, {path: text, "scout/skills/diffing/SKILL.md": skill("diffing")})
    made = await adopt(desk, tmp_path / path)
    package = load_package(desk.agents_dir / made, "user")
    assert (package.manifest.allowed_tools, package.manifest.models) == (tools, models)
    assert package.entry.body == text.split("---\n")[2].strip()
    if path == "planner/agent.md":
        told = package.manifest
        assert (told.label, told.max_turns, told.idle_rollover, told.language) == (
            "Chief of Staff",
            150,
            "1d",
            "French",
        )


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (CLAUDE.replace("Read,", "Reed,"), "tool_unknown", "Did you mean"),
        (CLAUDE.replace("Read,", "Bash,"), "tool_unknown", "Bash"),
        (CLAUDE.replace("name: code-reviewer\n", ""), "agent_invalid", "no name"),
        (CLAUDE.replace("description:", "describes:"), "agent_invalid", "description"),
        (PI, "agent_invalid", "no skill 'diffing'"),
        (CLAUDE + f"Use {SECRETS[0]}.", "secret_found", "Telegram"),
        ("---\nname: [\n---\nx", "agent_invalid", "YAML"),
    ],
)
async def test_what_can_not_be_taken_over_is_told_and_writes_nothing(
    desk: Desk, tmp_path: Path, text: str, code: str, words: str
) -> None:
    write(tmp_path, {"odd.md": text})
    with pytest.raises(PostroomError) as caught:
        await adopt(desk, tmp_path / "odd.md")
    assert caught.value.code == code
    assert words in str(caught.value)
    assert not desk.agents_dir.exists() or list(desk.agents_dir.iterdir()) == []


async def test_an_id_that_is_taken_is_replaced_on_purpose_only(desk: Desk, tmp_path: Path) -> None:
    write(tmp_path, {"a.md": CLAUDE})
    await adopt(desk, tmp_path / "a.md")
    with pytest.raises(PostroomError, match="already"):
        await adopt(desk, tmp_path / "a.md")
    assert await adopt(desk, tmp_path / "a.md", overwrite=True) == "code-reviewer"
    with pytest.raises(AgentInvalid, match="the name is"):
        await adopt(desk, tmp_path / "a.md", "other")


words = st.text(alphabet="abcdefgh ", min_size=1, max_size=30).filter(str.strip).map(lambda t: " ".join(t.split()))
packages = st.builds(
    lambda label, description, tools, models, turns, idle, body, subs: _package(
        Manifest(
            schema_version=1,
            id="helper",
            label=label,
            description=description,
            entry_skill="helper",
            status="production",
            allowed_tools=(*dict.fromkeys(tools), *(["execute_skill"] if subs else [])),
            models=models,
            max_turns=turns,
            idle_rollover=idle,
            sub_skills=tuple(SubSkillRef(id=name, description="A step.") for name in subs),
        ),
        body,
    ),
    label=words,
    description=words,
    tools=st.lists(st.sampled_from(["read", "write_file", "edit_file", "list_files"]), max_size=3),
    models=st.lists(st.sampled_from(["anthropic:x", "openai-chat:y"]), max_size=2, unique=True).map(tuple),
    turns=st.integers(10, 500),
    idle=st.sampled_from(["3h", "1d", "1w", "never"]),
    body=words,
    subs=st.lists(st.sampled_from(["one", "two"]), unique=True, max_size=2).map(sorted),
)


def _package(manifest: Manifest, body: str) -> AgentPackage:
    skills = {"helper": Skill("helper", manifest.description, body, Path())}
    skills |= {ref.id: Skill(ref.id, "A step.", "Do it.", Path()) for ref in manifest.sub_skills}
    return AgentPackage(manifest, Path(), "user", skills, "r")


@given(package=packages)
def test_out_and_in_again_is_the_same(tmp_path_factory: pytest.TempPathFactory, package: AgentPackage) -> None:
    folder = tmp_path_factory.mktemp("out")
    write(folder, write_foreign(package, "agent-md"))
    assert read_foreign(folder / "helper/agent.md").manifest == package.manifest

    write(folder, write_foreign(package, "pi"))
    again = read_foreign(folder / "helper.md").manifest
    assert again.allowed_tools == package.manifest.allowed_tools
    assert [ref.id for ref in again.sub_skills] == [ref.id for ref in package.manifest.sub_skills]
    assert again.models == package.manifest.models[:1]

    claude = write_foreign(package, "claude-code")
    assert set(claude) == {
        ".claude/agents/helper.md",
        *(f".claude/skills/{n}/SKILL.md" for n in package.skills if n != "helper"),
    }
