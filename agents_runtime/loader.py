"""Loading a package from its folder: everything that can be wrong is told with its file, its line and what to do."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from agents_runtime.benchmarks import Benchmarks, SubSkills
from agents_runtime.frontmatter import Document, FrontmatterError, split
from agents_runtime.invalid import AgentInvalid
from agents_runtime.json_files import line_of, read_json
from agents_runtime.manifest import Manifest
from agents_runtime.package import AgentPackage, Source
from agents_runtime.skill import Skill
from agents_runtime.tree import MANIFEST, SKILLS, Tree, digest, read_text, survey

__all__ = ["AgentInvalid", "load_manifest", "load_package"]

_Model = TypeVar("_Model", bound=BaseModel)

WIRING = "sub-skills.json"

DESCRIPTION_MAX = 1024
"""Characters of a skill's description, as the Agent Skills standard has it; the rest is left out."""


def load_package(directory: Path, source: Source, tree: Tree | None = None) -> AgentPackage:
    """Load one package; `tree` is what `survey` found just before. Raises AgentInvalid."""
    manifest = load_manifest(directory)
    tree = tree or survey(directory)
    skills = {manifest.entry_skill: _declared(directory, manifest.entry_skill, ("entrySkill",))}
    for number, ref in enumerate(manifest.sub_skills):
        skills[ref.id] = _declared(directory, ref.id, ("subSkills", number, "id"))
    for skill in skills.values():
        _check_wiring(directory, skill, [ref.id for ref in manifest.sub_skills])
    return AgentPackage(manifest, directory, source, skills, digest(directory, tree))


def load_manifest(directory: Path) -> Manifest:
    """Read `agent.json`. Raises AgentInvalid."""
    text = read_text(directory, MANIFEST)
    manifest = read_json(Manifest, text, MANIFEST)
    if manifest.id != directory.name:
        raise AgentInvalid(
            f"the id is '{manifest.id}', and the folder is '{directory.name}'.",
            file=MANIFEST,
            line=line_of(text, ("id",)),
            fix="Give both the same name.",
        )
    return manifest


def _declared(directory: Path, name: str, named: tuple[int | str, ...]) -> Skill:
    """A skill's folder; `named` is where the manifest names it. Raises AgentInvalid."""
    if not (directory / SKILLS / name).is_dir():
        found = ", ".join(sorted(p.parent.name for p in (directory / SKILLS).glob("*/SKILL.md"))) or "none"
        raise AgentInvalid(
            f"{named[0]} names '{name}', and there is no folder skills/{name}.",
            file=MANIFEST,
            line=line_of(read_text(directory, MANIFEST), named),
            fix=f"Make skills/{name}/SKILL.md, or name one of those there are: {found}.",
        )
    return load_skill(directory, SKILLS, name)


def load_skill(base: Path, skills: str, name: str) -> Skill:
    """The skill in the folder `base/skills/name`. Raises AgentInvalid."""
    file = f"{skills}/{name}/SKILL.md"
    document = _document(base, file)
    _beside(Benchmarks, base, f"{skills}/{name}/benchmarks.json")
    wired = _beside(SubSkills, base, f"{skills}/{name}/{WIRING}")
    return Skill(
        name=name,
        description=_description(document, file),
        body=document.body,
        directory=base / skills / name,
        allowed_tools=_allowed(document.fields.get("allowed-tools")),
        sub_skills=tuple(ref.id for ref in wired.sub_skills) if wired is not None else (),
    )


def load_skill_file(base: Path, skills: str, name: str) -> Skill:
    """The skill in the one file `base/skills/name.md`. Raises AgentInvalid."""
    file = f"{skills}/{name}.md"
    document = _document(base, file)
    return Skill(
        name=name,
        description=_description(document, file),
        body=document.body,
        directory=base / skills,
        allowed_tools=_allowed(document.fields.get("allowed-tools")),
    )


def _document(base: Path, file: str) -> Document:
    try:
        document = split(read_text(base, file))
    except FrontmatterError as error:
        raise AgentInvalid(f"{error}.", file=file, line=error.line, fix="Put the YAML right.") from error
    if not document.body:
        raise AgentInvalid("there is nothing after the frontmatter.", file=file, fix="Write the instructions.")
    return document


def _description(document: Document, file: str) -> str:
    description = document.fields.get("description")
    if not isinstance(description, str) or not description.strip():
        raise AgentInvalid(
            "the frontmatter has no description.", file=file, line=1, fix="Say in one line what the skill is for."
        )
    return " ".join(description.split())[:DESCRIPTION_MAX]


def _beside(model: type[_Model], directory: Path, file: str) -> _Model | None:
    if not (directory / file).exists():
        return None
    return read_json(model, read_text(directory, file), file)


def _check_wiring(directory: Path, skill: Skill, known: Collection[str]) -> None:
    """Refuse a skill that would run what the manifest does not declare: such a call could only fail."""
    for number, name in enumerate(skill.sub_skills):
        if name not in known:
            file = f"skills/{skill.name}/{WIRING}"
            raise AgentInvalid(
                f"'{name}' is not one of the agent's sub-skills.",
                file=file,
                line=line_of(read_text(directory, file), ("subSkills", number, "id")),
                fix=f"Add it to subSkills in {MANIFEST}, or take it out here.",
            )


def _allowed(value: JsonValue) -> tuple[str, ...] | None:
    """`allowed-tools` as a list, with commas or with spaces; absent means it does not narrow."""
    if value is None:
        return None
    named = value if isinstance(value, list) else re.split(r"[,\s]+", value) if isinstance(value, str) else []
    return tuple(name.strip() for name in named if isinstance(name, str) and name.strip())
