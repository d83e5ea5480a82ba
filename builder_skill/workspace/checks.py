"""Everything that can be said about a package before it is used: each check with its place and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from agents_runtime.benchmarks import Benchmarks, SubSkills
from agents_runtime.frontmatter import FrontmatterError, split
from agents_runtime.invalid import AgentInvalid
from agents_runtime.json_files import line_of, read_json
from agents_runtime.loader import load_manifest, load_package
from agents_runtime.manifest import Manifest, is_identifier
from agents_runtime.prompt import build_prompt
from agents_runtime.tokens import estimate_tokens
from agents_runtime.tools.grants import held_back, resolve_grants
from agents_runtime.tools.tool import AnyTool
from agents_runtime.tree import MANIFEST, survey
from builder_skill.workspace.files import texts
from builder_skill.workspace.secrets import find_secrets

Severity = Literal["error", "warning", "ok"]

PROMPT_BUDGET = 2_000
"""Tokens of a whole request, tool schemas included; more is slow and dear on every message."""

DESCRIPTION_MAX = 1_024
"""Characters of a skill's description, by the Agent Skills standard."""

_TOPS = "srv|opt|var|data|mnt|usr|tmp|app|apps|home|root|Users|Volumes|private|workspace|workspaces|run|media|nix|etc"
_HARD_CODED = re.compile(
    # Not after what makes it a part of an address or of a longer path, unless that address is a file's.
    r"(?:(?<![\w./~-])|(?<=file://))(?:"
    r"(?:~|\$\{?HOME\}?|/home/[\w.-]+|/root|/Users/[\w.-]+)/"
    rf"|/(?:{_TOPS})/(?:[\w.-]+/)*agents/[\w.-]+"
    r")"
    r"|\$\{?POSTROOM_\w+|%(?:USERPROFILE|APPDATA|LOCALAPPDATA|HOMEPATH|POSTROOM_\w+)%"
    r"|\b[A-Za-z]:\\+Users\\+[\w.-]+"
    r"|(?<!\w)\.(?:postroom|bot0)[\w-]*[/\\]"
)
"""Paths of one machine: a home folder, a variable that leads there, or an absolute path of agents."""

SKILL_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The fields of a SKILL.md, by the Agent Skills standard."""

COMPATIBILITY_MAX = 500
"""Characters, by the same standard."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding, or one thing that was looked at and is as it should be. `line` counts from 1, 0 where unknown."""

    code: str
    severity: Severity
    message: str
    file: str = ""
    line: int = 0
    fix: str = ""


def check_package(directory: Path, provided: Mapping[str, AnyTool]) -> list[Check]:
    """All checks of a package on disk."""
    files = texts(directory)
    found = [*_links(directory)]
    try:
        manifest = load_manifest(directory)
    except AgentInvalid as error:
        return [*found, _invalid("manifest_invalid", error), *_in_texts(files, directory.parent)]
    found += check_files(manifest, files, provided, directory.parent)
    if not any(check.severity == "error" for check in found):
        found += _whole(directory, provided)
    return found


def check_files(
    manifest: Manifest, files: Mapping[str, str], provided: Mapping[str, AnyTool], agents_dir: Path
) -> list[Check]:
    """What can be said of a package's texts before they are on disk. Pure; `agents_dir` is a path not to be named."""
    found: list[Check] = []
    for code, ok, checks in (
        ("manifest", "agent.json is valid.", [*_grants(manifest, files, provided)]),
        ("skills", "Every skill is there and well formed.", [*_skills(manifest, files)]),
        ("state", "State files are there and well formed.", [*_state(manifest, files)]),
        ("texts", "No secrets and no paths of one machine.", [*_in_texts(files, agents_dir)]),
        ("benchmarks", "Benchmarks are well formed.", [*_benchmarks(files)]),
    ):
        found += checks or [Check(code, "ok", ok)]
    return found


def is_valid(checks: list[Check]) -> bool:
    """Whether none is an error."""
    return all(check.severity != "error" for check in checks)


def _links(directory: Path) -> Iterator[Check]:
    try:
        survey(directory)
    except AgentInvalid as error:
        yield _invalid("tree_invalid", error)


def _grants(manifest: Manifest, files: Mapping[str, str], provided: Mapping[str, AnyTool]) -> Iterator[Check]:
    text = files.get(MANIFEST, "")
    for number, grant in enumerate(manifest.allowed_tools):
        held = held_back(manifest.id, (grant,), provided)
        if held is not None:
            line = line_of(text, ("allowedTools", number))
            yield Check("tool_unknown", "error", f"Nobody provides '{grant}'.", MANIFEST, line, held.fix)
    granted = resolve_grants(manifest.allowed_tools, provided).tools
    line = line_of(text, ("allowedTools",))
    if manifest.sub_skills and "execute_skill" not in granted:
        message = "There are sub-skills, and no tool to run them."
        yield Check("sub_skills_unreachable", "warning", message, MANIFEST, line, "Add execute_skill to allowedTools.")
    if manifest.state_files and not granted.keys() & {"read", "write_file", "edit_file"}:
        message = "There are state files, and no tool to use them."
        yield Check("state_unreachable", "warning", message, MANIFEST, line, "Add read and write_file to allowedTools.")


def _skills(manifest: Manifest, files: Mapping[str, str]) -> Iterator[Check]:
    declared = [manifest.entry_skill, *(ref.id for ref in manifest.sub_skills)]
    there = {path.split("/")[1] for path in files if re.fullmatch(r"skills/[^/]+/SKILL\.md", path)}
    text = files.get(MANIFEST, "")
    for number, name in enumerate(declared):
        if name not in there:
            loc = ("subSkills", number - 1, "id") if number else ("entrySkill",)
            code = "sub_skill_missing" if number else "entry_skill_missing"
            fix = f"Write skills/{name}/SKILL.md, or name one of those there are: {', '.join(sorted(there)) or 'none'}."
            yield Check(code, "error", f"There is no skills/{name}/SKILL.md.", MANIFEST, line_of(text, loc), fix)
    for name in sorted(there):
        if name not in declared:
            message = f"The skill '{name}' is there, and agent.json does not declare it."
            yield Check(
                "sub_skill_undeclared",
                "warning",
                message,
                f"skills/{name}/SKILL.md",
                1,
                "Add it to subSkills, or take it out.",
            )
        yield from _skill(name, files[f"skills/{name}/SKILL.md"])
        yield from _wiring(name, files.get(f"skills/{name}/sub-skills.json"), declared)


def _skill(name: str, text: str) -> Iterator[Check]:
    """The Agent Skills standard, strictly."""
    file = f"skills/{name}/SKILL.md"
    try:
        document = split(text)
    except FrontmatterError as error:
        yield Check("skill_invalid", "error", f"{error}.", file, error.line, "Put the YAML right.")
        return
    given, description = document.fields.get("name"), document.fields.get("description")
    if not is_identifier(name):
        fix = "Use lowercase words joined by hyphens."
        yield Check("skill_name_invalid", "error", f"'{name}' can't be a skill's name.", file, 0, fix)
    elif given != name:
        message = f"The frontmatter's name is '{given or ''}', and the folder is '{name}'."
        yield Check("skill_name_mismatch", "error", message, file, _line(text, "name"), f"Write 'name: {name}'.")
    if not isinstance(description, str) or not description.strip():
        fix = "Say in one line what the skill is for."
        yield Check("skill_description_missing", "error", "The frontmatter has no description.", file, 1, fix)
    elif len(description) > DESCRIPTION_MAX:
        message = f"The description has {len(description)} characters; {DESCRIPTION_MAX} are allowed."
        yield Check("skill_description_long", "error", message, file, _line(text, "description"), "Shorten it.")
    unknown = [field for field in document.fields if field not in SKILL_FIELDS]
    if unknown:
        message = f"The standard has no field '{unknown[0]}'."
        fix = f"Put it under metadata, or take it out. Fields are: {', '.join(SKILL_FIELDS)}."
        yield Check("skill_field_unknown", "warning", message, file, _line(text, unknown[0]), fix)
    if len(str(document.fields.get("compatibility", ""))) > COMPATIBILITY_MAX:
        message = f"compatibility has more than {COMPATIBILITY_MAX} characters."
        yield Check("skill_compatibility_long", "error", message, file, _line(text, "compatibility"), "Shorten it.")
    if not document.body:
        yield Check(
            "skill_empty", "error", "There is nothing after the frontmatter.", file, 0, "Write the instructions."
        )


def _wiring(name: str, text: str | None, declared: list[str]) -> Iterator[Check]:
    file = f"skills/{name}/sub-skills.json"
    if text is None:
        return
    try:
        wired = read_json(SubSkills, text, file)
    except AgentInvalid as error:
        yield _invalid("sub_skills_invalid", error)
        return
    for number, ref in enumerate(wired.sub_skills):
        if ref.id not in declared:
            line = line_of(text, ("subSkills", number, "id"))
            message = f"'{ref.id}' is not one of the agent's sub-skills."
            yield Check(
                "sub_skill_missing", "error", message, file, line, "Declare it in agent.json, or take it out here."
            )


def _state(manifest: Manifest, files: Mapping[str, str]) -> Iterator[Check]:
    for path in manifest.state_files:
        if f"state/{path}" not in files:
            message = f"stateFiles names '{path}', and there is no such file."
            line = line_of(files.get(MANIFEST, ""), ("stateFiles",))
            yield Check("state_missing", "warning", message, MANIFEST, line, f"Write state/{path}.")
    for path, text in files.items():
        if path.startswith("state/") and path.endswith(".json"):
            try:
                json.loads(text)
            except (ValueError, RecursionError) as error:
                line = getattr(error, "lineno", 0)
                yield Check("state_invalid", "error", f"Not JSON: {error}.", path, line, "Put it right.")


def _benchmarks(files: Mapping[str, str]) -> Iterator[Check]:
    for path, text in files.items():
        if re.fullmatch(r"skills/[^/]+/benchmarks\.json", path):
            try:
                read_json(Benchmarks, text, path)
            except AgentInvalid as error:
                yield _invalid("benchmarks_invalid", error)


def _in_texts(files: Mapping[str, str], agents_dir: Path) -> Iterator[Check]:
    for path, text in files.items():
        for hit in find_secrets(text):
            fix = "Take it out, and change it where it came from: what was in a file may have been seen."
            yield Check("secret_found", "error", f"This looks like {hit.kind}.", path, hit.line, fix)
        if path.startswith("state/"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if _HARD_CODED.search(line) or f"{agents_dir}/" in line:
                message = "A path of one machine is written here."
                yield Check(
                    "hardcoded_path", "error", message, path, number, "Write state/NAME or skills/NAME instead."
                )


def _whole(directory: Path, provided: Mapping[str, AnyTool]) -> Iterator[Check]:
    """What can be said once everything loads."""
    try:
        package = load_package(directory, "user")
    except AgentInvalid as error:
        yield _invalid("agent_invalid", error)
        return
    tools = resolve_grants(package.manifest.allowed_tools, provided).tools
    prompt = build_prompt(package, manner="", now=datetime.now(UTC))
    schemas = sum(estimate_tokens(json.dumps(t.arguments.model_json_schema()) + t.description) for t in tools.values())
    total = sum(part.tokens for part in prompt.parts) + schemas
    message = f"A request begins with about {total} tokens; the budget is {PROMPT_BUDGET}."
    if total > PROMPT_BUDGET:
        largest = max(prompt.parts, key=lambda part: part.tokens)
        fix = f"The largest part is the {largest.name} ({largest.tokens}): move detail to sub-skills."
        yield Check("prompt_over_budget", "warning", message, f"skills/{package.entry.name}/SKILL.md", 0, fix)
    else:
        yield Check("prompt", "ok", message)


def _invalid(code: str, error: AgentInvalid) -> Check:
    place = f"{error.file}:{error.line}: " if error.line else f"{error.file}: "
    return Check(code, "error", error.message.removeprefix(place), error.file, error.line, error.fix)


def _line(text: str, field: str) -> int:
    return next((n for n, line in enumerate(text.splitlines(), 1) if line.startswith(f"{field}:")), 1)
