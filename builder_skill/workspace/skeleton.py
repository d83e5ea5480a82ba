"""The one source of what a new package looks like. Pure: a manifest in, files out."""

from __future__ import annotations

import json
from collections.abc import Sequence

import yaml

from agents_runtime.manifest import Manifest, SubSkillRef

MANNERS = """\
- Answer what was asked, first and in few words.
- If something you need is missing, ask one question.
- Say what you don't know. Don't guess."""

Files = dict[str, str]
"""Texts by path, counted from the package's folder."""


def skeleton(manifest: Manifest) -> Files:
    """Every file of a new package."""
    files = {
        "agent.json": manifest_text(manifest),
        **_skill(manifest.entry_skill, manifest.description, _entry_body(manifest), manifest.sub_skills),
        "README.md": _readme(manifest),
    }
    for ref in manifest.sub_skills:
        files |= _skill(ref.id, _said(ref) or f"A step of {manifest.label}.", _sub_body(ref), ())
    for path in manifest.state_files:
        files[f"state/{path}"] = _state(path)
    return files


def manifest_text(manifest: Manifest) -> str:
    """`agent.json`: what was said, and what an author looks for first."""
    plain = manifest.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    shown = {"status": manifest.status, "allowedTools": [*manifest.allowed_tools], "subSkills": [], "stateFiles": []}
    order = ("schemaVersion", "id", "label", "description", "entrySkill", *shown)
    merged = {**shown, **plain}
    ordered = {key: merged[key] for key in order} | merged
    return json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"


def _skill(name: str, description: str, body: str, sub_skills: Sequence[SubSkillRef]) -> Files:
    front = yaml.safe_dump(
        {"name": name, "description": description}, sort_keys=False, allow_unicode=True, width=1_000_000
    )
    wired = [{"id": ref.id, "description": ref.description} for ref in sub_skills]
    return {
        f"skills/{name}/SKILL.md": f"---\n{front}---\n\n{body}\n",
        f"skills/{name}/sub-skills.json": json.dumps({"subSkills": wired}, indent=2, ensure_ascii=False) + "\n",
        f"skills/{name}/benchmarks.json": '{\n  "cases": []\n}\n',
    }


def _entry_body(manifest: Manifest) -> str:
    parts = [f"# {manifest.label}", manifest.description, "## How to answer", MANNERS]
    if manifest.sub_skills:
        steps = "\n".join(f"- `{ref.id}`: {_said(ref) or 'a step of the work.'}" for ref in manifest.sub_skills)
        parts += ["## Steps", f"Run these with `execute_skill`, and answer with what they return:\n\n{steps}"]
    if manifest.state_files:
        files = "\n".join(f"- `state/{path}`" for path in manifest.state_files)
        parts += ["## What to remember", f"Read before you answer from it, and write after it changed:\n\n{files}"]
    return "\n\n".join(parts)


def _sub_body(ref: SubSkillRef) -> str:
    does = _said(ref) or "Do one step of the work."
    return f"# {ref.id}\n\n{does}\n\nWork on the input you are given, and answer with the result alone."


def _said(ref: SubSkillRef) -> str:
    """Its description on one line; empty where it is blank."""
    return " ".join(ref.description.split())


def _state(path: str) -> str:
    return "{}\n" if path.endswith(".json") else ""


def _readme(manifest: Manifest) -> str:
    return (
        f"# {manifest.label}\n\n{manifest.description}\n\n"
        f"- What it does: `skills/{manifest.entry_skill}/SKILL.md`\n"
        "- What it may do: `allowedTools` in `agent.json`\n"
        f"- Try it: `postroom chat {manifest.id}`\n"
        f"- Check it: `postroom agent validate {manifest.id}`\n"
    )
