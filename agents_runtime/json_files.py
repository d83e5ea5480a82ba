"""The JSON files of a package, read into models: what is wrong is told with its line and what to do."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from agents_runtime.invalid import AgentInvalid

_Model = TypeVar("_Model", bound=BaseModel)
_Loc = Sequence[int | str]

_ADVICE = {
    "missing": "Add it.",
    "string_too_long": "Shorten it.",
    "string_too_short": "Fill it in.",
    "literal_error": "Use one of these.",
}


def read_json(model: type[_Model], text: str, file: str) -> _Model:
    """The text as a model, by the names on disk only. Raises AgentInvalid that names `file`."""
    try:
        raw = json.loads(text)
    except json.JSONDecodeError as error:
        raise AgentInvalid(
            f"not JSON at column {error.colno}: {error.msg}.", file=file, line=error.lineno, fix="Put it right."
        ) from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; thousands of brackets
        raise AgentInvalid("a number is too long, or lists are nested too deep.", file=file, fix="Simplify.") from error
    try:
        return model.model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        kind, loc = first["type"], first["loc"]
        where = ".".join(str(part) for part in loc) or "the whole file"
        line = line_of(text, loc)
        if kind == "extra_forbidden":
            raise AgentInvalid(
                f"unknown field '{where}'.", file=file, line=line, fix=_nearest(str(loc[-1]), _fields(model, loc))
            ) from error
        fix = _ADVICE.get(kind, "Put the field right.")
        raise AgentInvalid(f"{where}: {first['msg']}.", file=file, line=line, fix=fix) from error


def line_of(text: str, loc: _Loc) -> int:
    """The line of a field in a JSON text, from 1; of what should hold it, where it is missing; 0 where unknown."""
    try:
        # JSON is YAML, whose nodes know their lines; only the tabs between them are not.
        node = yaml.compose(text.replace("\t", " "), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return 0
    if node is None:
        return 0
    line = node.start_mark.line + 1
    for part in loc:
        found = _child(node, part)
        if found is None:
            break
        line, node = found
    return line


def _child(node: yaml.Node, part: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark.line + 1, value) for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
        item: yaml.Node = node.value[part]
        return item.start_mark.line + 1, item
    return None


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"Did you mean '{near[0]}'?" if near else f"Known fields: {', '.join(known)}."


def _fields(model: type[BaseModel], loc: _Loc) -> list[str]:
    """The names on disk that are known where a location leads."""
    for part in loc[:-1]:
        inner = next((_model_in(f.annotation) for f in model.model_fields.values() if f.alias == part), None)
        model = inner or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _model_in(inner)) is not None), None)
