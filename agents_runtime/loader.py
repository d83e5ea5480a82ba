"""Loading a package from its folder: everything that can be wrong is told with its file, its line and what to do."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agents_runtime.benchmarks import Benchmarks, SubSkills
from agents_runtime.frontmatter import FrontmatterError, split
from agents_runtime.manifest import Manifest
from agents_runtime.package import AgentPackage, Source
from agents_runtime.skill import Skill
from channels.errors import PostroomError

_Model = TypeVar("_Model", bound=BaseModel)

MAX_FILE = 500_000
"""Bytes of one manifest or skill file; a larger one is a mistake."""

DESCRIPTION_MAX = 1024
"""Characters of a skill's description, as the Agent Skills standard has it."""


class AgentInvalid(PostroomError):
    """A package that can't be loaded. `file` is relative to its folder; `line` counts from 1, 0 where unknown."""

    code = "agent_invalid"

    def __init__(self, message: str, *, file: str, line: int = 0, fix: str = "") -> None:
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {message}", fix=fix)
        self.file = file
        self.line = line


def load_package(directory: Path, source: Source) -> AgentPackage:
    """Load one package. Raises AgentInvalid."""
    manifest = load_manifest(directory)
    skills: dict[str, Skill] = {}
    for name in (manifest.entry_skill, *(ref.id for ref in manifest.sub_skills)):
        if not (directory / "skills" / name).is_dir():
            what = "entrySkill" if name == manifest.entry_skill else "subSkills"
            found = ", ".join(sorted(p.name for p in (directory / "skills").glob("*/"))) or "none"
            raise AgentInvalid(
                f"{what} names '{name}', and there is no folder skills/{name}.",
                file="agent.json",
                fix=f"Make skills/{name}/SKILL.md, or name one of: {found}.",
            )
        skills[name] = load_skill(directory, name)
    return AgentPackage(manifest, directory, source, skills, revision(directory))


def load_manifest(directory: Path) -> Manifest:
    """Read `agent.json`. Raises AgentInvalid."""
    text = _read(directory, Path("agent.json"))
    try:
        raw = json.loads(text)
    except json.JSONDecodeError as error:
        raise AgentInvalid(
            f"not JSON at column {error.colno}: {error.msg}.", file="agent.json", line=error.lineno, fix="Put it right."
        ) from error
    manifest = _validated(Manifest, raw, "agent.json", text)
    if manifest.id != directory.name:
        raise AgentInvalid(
            f"the id is '{manifest.id}', and the folder is '{directory.name}'.",
            file="agent.json",
            line=_line_of(text, "id"),
            fix="Give both the same name.",
        )
    return manifest


def load_skill(directory: Path, name: str) -> Skill:
    """Read one skill's folder. Raises AgentInvalid."""
    folder = Path("skills") / name
    file = str(folder / "SKILL.md")
    text = _read(directory, folder / "SKILL.md")
    try:
        document = split(text)
    except FrontmatterError as error:
        raise AgentInvalid(f"{error}.", file=file, line=error.line, fix="Put the YAML right.") from error
    description = document.fields.get("description")
    if not isinstance(description, str) or not description.strip():
        raise AgentInvalid(
            "the frontmatter has no description.", file=file, line=1, fix="Say in one line what the skill is for."
        )
    if not document.body:
        raise AgentInvalid("there is nothing after the frontmatter.", file=file, fix="Write the instructions.")
    _optional(Benchmarks, directory, folder / "benchmarks.json")
    wired = _optional(SubSkills, directory, folder / "sub-skills.json")
    return Skill(
        name=name,
        description=" ".join(description.split())[:DESCRIPTION_MAX],
        body=document.body,
        directory=directory / folder,
        allowed_tools=_allowed(document.fields.get("allowed-tools")),
        sub_skills=tuple(ref.id for ref in wired.sub_skills) if wired is not None else (),
    )


def revision(directory: Path) -> str:
    """A digest of the manifest and every file under skills/, by sorted path; state does not count."""
    digest = hashlib.sha256()
    for path in [directory / "agent.json", *sorted(p for p in (directory / "skills").rglob("*") if p.is_file())]:
        digest.update(path.relative_to(directory).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def watched(package: AgentPackage) -> Iterator[Path]:
    """The files that a loaded package was read from, whether they exist or not: a change of any reloads it."""
    yield package.directory / "agent.json"
    for skill in package.skills.values():
        for name in ("SKILL.md", "sub-skills.json", "benchmarks.json"):
            yield skill.directory / name


def _optional(model: type[_Model], directory: Path, path: Path) -> _Model | None:
    if not (directory / path).exists():
        return None
    text = _read(directory, path)
    try:
        raw = json.loads(text)
    except json.JSONDecodeError as error:
        raise AgentInvalid(f"not JSON: {error.msg}.", file=str(path), line=error.lineno, fix="Put it right.") from error
    return _validated(model, raw, str(path), text)


def _read(directory: Path, path: Path) -> str:
    file = directory / path
    root = directory.resolve()
    if not file.resolve().is_relative_to(root):
        raise AgentInvalid("a link leads out of the package.", file=str(path), fix="Copy the file in.")
    try:
        if file.stat().st_size > MAX_FILE:
            raise AgentInvalid(f"larger than {MAX_FILE} bytes.", file=str(path), fix="Split it.")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise AgentInvalid("the file is missing.", file=str(path), fix="Add it.") from error
    except UnicodeDecodeError as error:
        raise AgentInvalid("not UTF-8 text.", file=str(path), fix="Save it as UTF-8.") from error
    except OSError as error:
        raise AgentInvalid(f"can't be read: {error.strerror}.", file=str(path), fix="Check its permissions.") from error


def _validated(model: type[_Model], raw: Any, file: str, text: str) -> _Model:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        name = str(first["loc"][-1]) if first["loc"] else ""
        line = _line_of(text, str(first["loc"][0])) if first["loc"] else 1
        if first["type"] == "extra_forbidden":
            known = [field.alias or key for key, field in model.model_fields.items()]
            near = difflib.get_close_matches(name, known, 1)
            fix = f"Did you mean '{near[0]}'?" if near else f"Known fields: {', '.join(known)}."
            raise AgentInvalid(f"unknown field '{where}'.", file=file, line=line, fix=fix) from error
        raise AgentInvalid(f"{where}: {first['msg']}.", file=file, line=line, fix="Put the field right.") from error


def _line_of(text: str, key: str) -> int:
    """The line on which a JSON key stands first, from 1; 0 where it doesn't."""
    found = re.search(rf'"{re.escape(key)}"\s*:', text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _allowed(value: Any) -> tuple[str, ...] | None:
    """`allowed-tools` as a list, with commas or with spaces; absent means it does not narrow."""
    if value is None:
        return None
    if isinstance(value, list):
        return tuple(str(item).strip() for item in value if str(item).strip())
    return tuple(part for part in re.split(r"[,\s]+", str(value)) if part)
