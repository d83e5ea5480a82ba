"""Loading an agent that is one Markdown file, with the skills in its own folder where it has one."""

from __future__ import annotations

import difflib
from pathlib import Path

from agents_runtime.definition import Definition, read_definition
from agents_runtime.forms import Found
from agents_runtime.invalid import AgentInvalid
from agents_runtime.loader import load_skill, load_skill_file
from agents_runtime.manifest import Manifest, SubSkillRef, is_identifier
from agents_runtime.package import AgentPackage
from agents_runtime.skill import Skill
from agents_runtime.tools.skills import EXECUTE_SKILL
from agents_runtime.tree import Tree, digest, read_text


def load_single(found: Found, tree: Tree) -> AgentPackage:
    """Load it; `tree` is what `survey` found just before. Raises AgentInvalid."""
    definition = _definition(found)
    agent_id, manifest = definition.manifest.id, definition.manifest
    entry = Skill(agent_id, manifest.description, definition.body, found.directory)
    there = _there(found.base / found.skills)
    names = tuple(there) if definition.skills is None else definition.skills
    skills = {name: _skill(found, name, there) for name in names if name != agent_id}
    if skills:
        # Naming skills asks for the one tool that runs them; they get no more tools than the file names.
        refs = tuple(SubSkillRef(id=name, description=skill.description) for name, skill in skills.items())
        tools = tuple(dict.fromkeys([*manifest.allowed_tools, EXECUTE_SKILL.name]))
        manifest = manifest.model_copy(update={"sub_skills": refs, "allowed_tools": tools})
    return AgentPackage(manifest, found.directory, found.source, {agent_id: entry, **skills}, digest(found.base, tree))


def load_single_manifest(found: Found) -> Manifest:
    """What the file says about the agent, its skills aside. Raises AgentInvalid."""
    return _definition(found).manifest


def _definition(found: Found) -> Definition:
    return read_definition(read_text(found.base, found.manifest), found.directory.name, found.manifest)


def _there(skills: Path) -> dict[str, bool]:
    """The names of the skills in a folder, and whether each is a folder of its own."""
    files = {path.stem: False for path in skills.glob("*.md")}
    folders = {path.parent.name: True for path in skills.glob("*/SKILL.md")}
    return {name: kind for name, kind in sorted((files | folders).items()) if is_identifier(name)}


def _skill(found: Found, name: str, there: dict[str, bool]) -> Skill:
    if name not in there:
        near = difflib.get_close_matches(name, there, 1)
        known = f"Skills in {found.skills}/: {', '.join(there) or 'none'}."
        raise AgentInvalid(
            f"there is no skill '{name}'.",
            file=found.manifest,
            line=1,
            fix=f"Did you mean '{near[0]}'? {known}" if near else known,
        )
    load = load_skill if there[name] else load_skill_file
    return load(found.base, found.skills, name)
