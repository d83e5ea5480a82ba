"""Agents from other platforms' files and back: one Markdown file with frontmatter, and skills beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import JsonValue

from agents_runtime.forms import Found
from agents_runtime.frontmatter import FrontmatterError, split
from agents_runtime.invalid import AgentInvalid
from agents_runtime.manifest import ID_MAX, Manifest, is_identifier
from agents_runtime.package import AgentPackage
from agents_runtime.single import load_single
from agents_runtime.skill import Skill
from agents_runtime.tree import DEFINITION, read_text, survey
from builder_skill.workspace.skeleton import Files, manifest_text

Dialect = Literal["claude-code", "pi", "agent-md"]

TOOLS: Mapping[Dialect, Mapping[str, str]] = {
    "claude-code": {
        "read": "Read",
        "write_file": "Write",
        "edit_file": "Edit",
        "list_files": "Glob",
        "execute_skill": "Skill",
    },
    "pi": {"read": "read", "write_file": "write", "edit_file": "edit", "list_files": "ls"},
    "agent-md": {},
}
"""What a tool is called elsewhere; one without another name keeps its own."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A package made of a file: its manifest and all of its files."""

    manifest: Manifest
    files: Files


def read_foreign(path: Path, agent_id: str = "") -> Imported:
    """Read a file, and the skills that belong to it, as a package. Raises AgentInvalid."""
    base = path.absolute().parent
    text = read_text(base, path.name)
    chosen = agent_id or _id_of(text, path)
    own = path.name == DEFINITION
    skills = "skills" if own else f"{chosen}/skills"
    found = Found(base, path.name, skills, base / chosen, "user", None)
    package = load_single(found, survey(base, path.name, skills))
    return Imported(package.manifest, _files(package))


def write_foreign(package: AgentPackage, dialect: Dialect) -> Files:
    """A package as a dialect's files, the agent itself first."""
    manifest = package.manifest
    subs = [package.skills[ref.id] for ref in manifest.sub_skills]
    front = _front(manifest, dialect, [skill.name for skill in subs])
    text = f"---\n{_yaml(front)}---\n\n{package.entry.body}\n"
    match dialect:
        case "claude-code":
            files = {f".claude/agents/{package.id}.md": text}
            return files | {f".claude/skills/{skill.name}/SKILL.md": _skill_text(skill) for skill in subs}
        case "pi":
            files = {f"{package.id}.md": text}
            return files | {f"{package.id}/skills/{skill.name}/SKILL.md": _skill_text(skill) for skill in subs}
        case _:
            files = {f"{package.id}/{DEFINITION}": text}
            return files | {f"{package.id}/skills/{skill.name}.md": _skill_text(skill) for skill in subs}


def _id_of(text: str, path: Path) -> str:
    """What the file calls itself, as an id: its id, its name, its handle, or the file's own name."""
    try:
        fields = split(text).fields
    except FrontmatterError as error:
        raise AgentInvalid(f"{error}.", file=path.name, line=error.line, fix="Put the YAML right.") from error
    stem = path.parent.name if path.name == DEFINITION else path.name.removesuffix(".local.md").removesuffix(".md")
    given = [fields.get("id"), fields.get("name"), fields.get("handle"), stem]
    words = [word for word in given if isinstance(word, str)]
    exact = next((word for word in words if is_identifier(word)), None)
    return exact or next((slug for word in words if (slug := _slug(word))), "agent")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:ID_MAX].strip("-")


def _files(package: AgentPackage) -> Files:
    manifest = package.manifest
    files = {"agent.json": manifest_text(manifest)}
    for skill in package.skills.values():
        files[f"skills/{skill.name}/SKILL.md"] = _skill_text(skill)
        wired = [{"id": ref.id, "description": ref.description} for ref in manifest.sub_skills]
        own = {"subSkills": wired if skill is package.entry else [{"id": name} for name in skill.sub_skills]}
        files[f"skills/{skill.name}/sub-skills.json"] = json.dumps(own, indent=2, ensure_ascii=False) + "\n"
        files[f"skills/{skill.name}/benchmarks.json"] = '{\n  "cases": []\n}\n'
    files["README.md"] = f"# {manifest.label}\n\n{manifest.description}\n"
    return files


def _skill_text(skill: Skill) -> str:
    front: dict[str, JsonValue] = {"name": skill.name, "description": skill.description}
    if skill.allowed_tools is not None:
        front["allowed-tools"] = ", ".join(skill.allowed_tools)
    return f"---\n{_yaml(front)}---\n\n{skill.body}\n"


def _front(manifest: Manifest, dialect: Dialect, skills: list[str]) -> dict[str, JsonValue]:
    names = TOOLS[dialect]
    grants = [g for g in manifest.allowed_tools if not (skills and g == "execute_skill" and dialect != "claude-code")]
    tools = [names.get(g.removesuffix("?"), g.removesuffix("?")) + ("?" if g.endswith("?") else "") for g in grants]
    front: dict[str, JsonValue] = {"name": manifest.id, "description": manifest.description}
    if dialect == "agent-md":
        front = {"id": manifest.id, "name": manifest.label, "description": manifest.description}
    if tools:
        front["tools"] = ", ".join(tools)
    if manifest.models:
        front |= _models(manifest.models, dialect)
    if skills and dialect != "claude-code":
        front["skills"] = ", ".join(skills)
    if dialect == "agent-md":
        told = manifest.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        kept = ("status", "maxTurns", "idleRollover", "language", "stateScope", "stateFiles", "writes")
        front |= {name: told[name] for name in kept if name in told}
    return front


def _models(models: tuple[str, ...], dialect: Dialect) -> dict[str, JsonValue]:
    if dialect == "agent-md":
        return {"models": [*models]}
    provider, _, name = models[0].partition(":")
    if dialect == "claude-code":
        return {"model": name} if provider == "anthropic" else {}
    elsewhere = {"anthropic": "anthropic", "openai-chat": "openai"}.get(provider)
    return {"model": f"{elsewhere}/{name}"} if elsewhere else {}


def _yaml(front: Mapping[str, JsonValue]) -> str:
    text: str = yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True, width=1_000_000)
    return text
