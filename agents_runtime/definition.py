"""One Markdown file with frontmatter as an agent: read as people have it, in whichever dialect. Pure.

What a field of another platform can't mean here is passed over; a field that looks like a mistyped one of ours is not.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from agents_runtime.frontmatter import Document, FrontmatterError, split
from agents_runtime.invalid import AgentInvalid
from agents_runtime.manifest import Manifest, is_identifier
from agents_runtime.models import FORMS, parse_spec
from agents_runtime.run import ModelFailed

OURS = (
    *("id", "name", "handle", "label", "description", "status", "tools", "disallowedTools", "model"),
    *("models", "maxTurns", "idleRollover", "language", "skills", "stateScope", "stateFiles", "writes"),
)
"""The fields that mean something here."""

ALIASES: dict[str, tuple[str, ...]] = {
    "read": ("read",),
    "grep": ("read",),
    "write": ("write_file",),
    "edit": ("edit_file",),
    "multiedit": ("edit_file",),
    "glob": ("list_files",),
    "find": ("list_files",),
    "ls": ("list_files",),
    "skill": ("execute_skill",),
    "subagent": ("execute_skill",),
    "task": ("execute_skill",),
}
"""Tools as other platforms name them, in any case, and the ones here that do no more than those."""

PROVIDERS = {"anthropic": "anthropic", "openai": "openai-chat", "openai-chat": "openai-chat"}

UNPINNED = frozenset({"inherit", "default", "sonnet", "opus", "haiku"})
"""Model words of other platforms that name no model: the configured one answers."""

_MANIFEST_FIELDS = ("status", "maxTurns", "idleRollover", "language", "stateScope")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a file says. `skills` None means those in its own folder; `body` is the entry skill."""

    manifest: Manifest
    skills: tuple[str, ...] | None
    body: str


def read_definition(text: str, agent_id: str, file: str) -> Definition:
    """Read the text of a file that stands for the agent `agent_id`. Raises AgentInvalid that names `file`."""
    try:
        document = split(text)
    except FrontmatterError as error:
        raise AgentInvalid(f"{error}.", file=file, line=error.line, fix="Put the YAML right.") from error
    reader = _Reader(document, text, file)
    reader.check_names()
    skills = None if "skills" not in document.fields else tuple(reader.words("skills"))
    if not document.body:
        raise reader.wrong("", "there is nothing after the frontmatter.", "Write what the agent does.")
    return Definition(reader.manifest(agent_id), skills, document.body)


class _Reader:
    def __init__(self, document: Document, text: str, file: str) -> None:
        self._fields = document.fields
        self._text = text
        self._file = file

    def manifest(self, agent_id: str) -> Manifest:
        name, description = self.text("name") or self.text("handle"), self.text("description")
        self._check_id(agent_id, name)
        if not description:
            raise self.wrong("", "the frontmatter has no description.", "Say in one line what the agent is for.")
        raw: dict[str, JsonValue] = {
            "schemaVersion": 1,
            "id": agent_id,
            "label": (self.text("label") or name or agent_id)[:100],
            "description": " ".join(description.split())[:1024],
            "entrySkill": agent_id,
            "status": "production",
            "allowedTools": list(self._tools()),
            "models": list(self._models()),
            "stateFiles": list(self.words("stateFiles")),
            **{key: self._fields[key] for key in _MANIFEST_FIELDS if self._fields.get(key)},
        }
        if "writes" in self._fields and self._fields["writes"] != "null":
            raw["writes"] = list(self.words("writes"))
        try:
            return Manifest.model_validate(raw, by_alias=True, by_name=False)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = {"allowedTools": "tools"}.get(field := str(first["loc"][0]), field)
            raise self.wrong(field, f"{field}: {first['msg']}.", "Put the field right.") from error

    def check_names(self) -> None:
        """Refuse what is surely a slip of the pen; let pass what other platforms have."""
        for name in self._fields:
            near = difflib.get_close_matches(name, OURS, 1, 0.8)
            if name not in OURS and near and near[0] not in self._fields:
                raise self.wrong(name, f"unknown field '{name}'.", f"Did you mean '{near[0]}'?")

    def text(self, field: str) -> str:
        value = self._fields.get(field)
        if value is not None and not isinstance(value, str):
            raise self.wrong(field, f"{field} is not plain text.", "Write it on one line.")
        return (value or "").strip()

    def words(self, field: str) -> Iterable[str]:
        """A list, in any of the ways people write one: with commas, in brackets, or a line each."""
        value = self._fields.get(field) or []
        items = (
            re.split(r",(?![^()]*\))", value.strip().removeprefix("[").removesuffix("]"))
            if isinstance(value, str)
            else value
        )
        if not isinstance(items, list):
            raise self.wrong(field, f"{field} is not a list.", "Write names with commas, or one a line after '- '.")
        for item in items:
            if not isinstance(item, str):
                raise self.wrong(field, f"{field} has an entry that is not a name.", "Write plain names.")
            if item.strip():
                yield item.strip()

    def wrong(self, field: str, message: str, fix: str) -> AgentInvalid:
        line = next(
            (n for n, line in enumerate(self._text.splitlines(), 1) if field and line.startswith(f"{field}:")), 1
        )
        return AgentInvalid(message, file=self._file, line=line, fix=fix)

    def _check_id(self, agent_id: str, name: str) -> None:
        given = self.text("id") or (name if is_identifier(name) else "")
        if not (self.text("id") or name):
            raise self.wrong("", "the frontmatter has no name.", f"Add 'name: {agent_id}'.")
        if given and given != agent_id:
            field = "id" if self.text("id") else "name" if self.text("name") else "handle"
            raise self.wrong(
                field, f"the {field} is '{given}', and the file is for '{agent_id}'.", "Give both the same name."
            )

    def _tools(self) -> Iterable[str]:
        denied = {grant for word in self.words("disallowedTools") for grant in _grants(word)}
        return dict.fromkeys(grant for word in self.words("tools") for grant in _grants(word) if grant not in denied)

    def _models(self) -> Iterable[str]:
        for spec in [*self.words("models"), *self.words("model")]:
            if spec.lower() in UNPINNED:
                continue
            provider, slash, name = spec.partition("/")
            wanted = f"{PROVIDERS[provider]}:{name}" if slash and provider in PROVIDERS else spec
            try:
                yield str(parse_spec(wanted))
            except ModelFailed as error:
                raise self.wrong("model", f"there is no model '{spec}'.", f"Write {FORMS}, or leave it out.") from error


def _grants(word: str) -> tuple[str, ...]:
    """What a tool word grants here. An unknown one stays as it is, and holds the agent back by that name."""
    optional = "?" if word.endswith("?") else ""
    known = ALIASES.get(word.removesuffix("?").lower())
    return (word,) if known is None else tuple(f"{name}{optional}" for name in known)
