"""The prompt: who the agent is, what it does, and nothing of the machine it runs on. Pure.

Parts go from what never changes to what changes daily, so that a provider's prompt cache holds as long as it can.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from agents_runtime.package import AgentPackage
from agents_runtime.skill import Skill
from agents_runtime.tokens import estimate_tokens

TODAY = "{{today}}"
"""The only placeholder; anything else in braces stays as written."""

SENDING = "To send a file from state/ or inbox/, write ![its name](its path) in the answer."

UNTRANSLATED = "Leave names, identifiers, paths, quoted text and words you were told to answer with as they are."


class PromptPart(NamedTuple):
    """One named part of a prompt, and about how many tokens it costs."""

    name: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt in parts."""

    parts: tuple[PromptPart, ...]

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "\n\n".join(part.text for part in self.parts)


def build_prompt(package: AgentPackage, *, manner: str, now: datetime) -> Prompt:
    """The agent's own prompt. Of `now`, the owner's clock, only the date is told: a day's prompts are the same."""
    manifest = package.manifest
    identity = (
        f"You are {manifest.label}, a file-backed channel agent.\n"
        f"Agent id: {manifest.id}\n"
        "Agent skills directory: skills/\n"
        "Agent state directory: state/\n"
        f"Entry skill: {manifest.entry_skill}"
    )
    skill = f"<entry_skill>\n{_filled(package.entry.body, now)}\n</entry_skill>"
    catalogue = "\n".join(
        f"- {ref.id}: {ref.description or package.skills[ref.id].description}" for ref in manifest.sub_skills
    )
    return _prompt(
        ("identity", identity),
        ("entry skill", skill),
        ("sub-skills", f"Sub-skills, run with execute_skill:\n{catalogue}" if catalogue else ""),
        ("files", SENDING if manifest.reads_files else ""),
        *_shared(package, manner, now),
    )


def build_skill_prompt(package: AgentPackage, skill: Skill, *, manner: str, now: datetime) -> Prompt:
    """The prompt of a sub-skill's own run: its body, and the rules that hold for the whole agent."""
    return _prompt(
        ("identity", f"You are the skill {skill.name} of {package.manifest.label}. Answer with the result alone."),
        ("skill", _filled(skill.body, now)),
        *_shared(package, manner, now),
    )


def _shared(package: AgentPackage, manner: str, now: datetime) -> tuple[tuple[str, str], ...]:
    language = package.manifest.language or "the language of the message"
    return (
        ("language", f"Answer in {language}. {UNTRANSLATED}"),
        ("manner", manner),
        ("clock", f"Today is {now:%A}, {now:%Y-%m-%d} ({now.tzname() or 'UTC'})."),
    )


def _filled(body: str, now: datetime) -> str:
    return body.replace(TODAY, f"{now:%Y-%m-%d}")


def _prompt(*parts: tuple[str, str]) -> Prompt:
    return Prompt(tuple(PromptPart(name, text, estimate_tokens(text)) for name, text in parts if text))
