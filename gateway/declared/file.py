"""What a `postroom.yaml` may say, and reading it: whatever is wrong is told with its line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from agents_runtime.manifest import Identifier
from channels.errors import PostroomError
from routes.route import Access, AccessPolicy, Route, StrangerAnswer
from routes.scope import ScopeSpec, describe

DEFAULT = "postroom.yaml"


class FileInvalid(PostroomError):
    """The file can't be used as it is. `line` counts from 1, 0 where unknown."""

    code = "file_invalid"

    def __init__(self, message: str, *, path: Path, line: int = 0, fix: str = "") -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}", fix=fix)
        self.line = line


class _Camel(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, coerce_numbers_to_str=True
    )


class SecretRef(_Camel):
    """Where a secret is read from when the file is applied; `vault` keeps the one that is there."""

    env: str | None = None
    file: str | None = None
    vault: Literal[True] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(value is not None for value in (self.env, self.file, self.vault)) != 1:
            raise ValueError("give one of env: VAR, file: PATH or vault: true, never the secret itself")
        return self


class DeclaredConnection(_Camel):
    """One connection. `settings` are the channel's own, by the names of `connection add`'s options."""

    channel: str
    label: str = ""
    enabled: bool = True
    owners: tuple[str, ...] = ()
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    secrets: dict[str, SecretRef] = Field(default_factory=dict)


class DeclaredRoute(_Camel):
    """One route. Without an `id` it is the one with the same connection, agent and scope, or a new one."""

    id: Identifier | None = None
    connection: Identifier
    agent: Identifier
    scope: ScopeSpec = ScopeSpec()
    access: AccessPolicy = "open"
    allow: tuple[str, ...] = ()
    mention_required: bool = True
    stranger: StrangerAnswer = "polite"
    fallback: bool = False
    enabled: bool = True

    def to_access(self) -> Access:
        """Its access policy."""
        return Access(self.access, frozenset(self.allow), self.mention_required, self.stranger)


class Declared(_Camel):
    """A whole file. It speaks for the connections it names; others are left alone."""

    version: Annotated[Literal[1], Field(description="of this format")] = 1
    connections: dict[Identifier, DeclaredConnection] = Field(default_factory=dict)
    routes: tuple[DeclaredRoute, ...] = ()
    agents: tuple[str, ...] = Field(default=(), description="folders of agents, counted from the file")


def read_declared(path: Path) -> Declared:
    """Read a file. Raises FileInvalid."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        fix = "Write one with: postroom export > postroom.yaml"
        raise FileInvalid(f"it can't be read: {reason}.", path=path, fix=fix) from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        raw = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it is not YAML"
        line = mark.line + 1 if mark is not None else 0
        raise FileInvalid(f"{problem}.", path=path, line=line, fix="Put the YAML right.") from error
    twice = None if node is None else _twice(node)
    if twice is not None:
        raise FileInvalid(f"'{twice.value}' is there twice.", path=path, line=_line(twice), fix="Keep one of them.")
    try:
        return Declared.model_validate(raw or {}, by_alias=True, by_name=False)
    except ValidationError as error:
        # A mistyped name comes first: it is why the right one is missing.
        first = min(error.errors(include_url=False, include_input=False), key=lambda e: e["type"] != "extra_forbidden")
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        line = _line_of(node, first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise FileInvalid(f"{where}: {message}.", path=path, line=line, fix="See docs/as-code.md.") from error


def declared_route(route: Route) -> DeclaredRoute:
    """A route as a file would say it."""
    return DeclaredRoute(
        id=route.id,
        connection=route.connection_id,
        agent=route.agent_id,
        scope=ScopeSpec.model_validate(describe(route.scope)),
        access=route.access.policy,
        allow=tuple(sorted(route.access.allow)),
        mention_required=route.access.mention_required,
        stranger=route.access.stranger,
        fallback=route.fallback,
        enabled=route.enabled,
    )


def write_declared(declared: Declared) -> str:
    """The file's text; what is as by default is left out."""
    plain: Mapping[str, JsonValue] = declared.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for route in plain.get("routes", []) or []:  # type: ignore[union-attr]
        scope = route.get("scope") if isinstance(route, dict) else None
        if isinstance(scope, dict):
            for name, values in scope.items():
                scope[name] = sorted(values) if isinstance(values, list) else values  # type: ignore[type-var]
    text: str = yaml.safe_dump({"version": 1, **plain}, sort_keys=False, allow_unicode=True)
    return text


def _twice(whole: yaml.Node) -> yaml.ScalarNode | None:
    """A key that a mapping has twice: YAML would let the last one win in silence."""
    waiting, been = [whole], {id(whole)}  # an alias may lead back to what holds it
    while waiting:
        node = waiting.pop()
        inside: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in keys:
                        return key
                    keys.add(key.value)
                inside.append(value)
        elif isinstance(node, yaml.SequenceNode):
            inside = node.value
        waiting += [each for each in inside if id(each) not in been]
        been |= {id(each) for each in inside}
    return None


def _line_of(node: yaml.Node | None, loc: tuple[int | str, ...]) -> int:
    line = 0 if node is None else _line(node)
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == part), None)
            if found is None:
                break
            line, node = _line(found[0]), found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = _line(node)
        else:
            break
    return line


def _line(node: yaml.Node) -> int:
    line: int = node.start_mark.line
    return line + 1
