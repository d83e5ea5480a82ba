"""Parameters of a Bot API call: read from wherever they may be, and as forgiving of types as the server is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from pydantic_core import from_json

from channels.telegram.rehearsal.errors import ApiError, bad_request

Json = dict[str, Any]

UPLOAD_MAX = 50 * 1024 * 1024
"""Bytes of a request with a file."""

_INTEGER = re.compile(r"\s*([+-]?\d+)")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a call."""

    name: str
    content: bytes
    media_type: str


async def read(request: web.Request) -> Json:
    """Parameters from the query, a form, a multipart body or JSON, the body's first. Raises ApiError."""
    params: Json = dict(request.query)
    if request.method != "POST":
        return params
    match request.content_type:
        case "application/json":
            params |= _object(await _body(request))
        case "multipart/form-data":
            params |= await _multipart(request)
        case _:
            params |= parse_qsl((await _body(request)).decode(errors="replace"), keep_blank_values=True)
    return params


def unpacked(params: Json, name: str, complaint: str) -> Any:
    """A parameter that is JSON, or JSON in a form's text; None when absent. Raises ApiError with the complaint."""
    value = params.get(name)
    if not isinstance(value, str):
        return value
    try:
        return from_json(value) if value else None
    except ValueError:
        raise bad_request(complaint) from None


def flag(params: Json, name: str) -> bool:
    """A boolean parameter, as JSON or as text."""
    value = params.get(name)
    return value is True or str(value).lower() in ("true", "yes", "1")


def integer(params: Json, name: str, default: int = 0) -> int:
    """A whole number; what isn't one counts as 0."""
    value = params.get(name)
    if value is None or value == "":
        return default
    found = _INTEGER.match(str(value))
    return int(found[1]) if found else 0


def field_of(value: Json, name: str, kind: type, said: Callable[[str], ApiError], *, required: bool = False) -> Any:
    """A field of a JSON object, of the right type; None when absent. Raises ApiError."""
    found = value.get(name)
    if found is None:
        if required:
            raise said(f'Can\'t find field "{name}"')
        return None
    if isinstance(found, bool) and kind is not bool:
        found = None
    if kind is str and isinstance(found, int | float):
        return str(found)
    if kind is int and isinstance(found, str) and found.lstrip("-").isdigit():
        return int(found)
    if not isinstance(found, kind):
        names = {str: "String", int: "Number", bool: "Boolean", list: "Array", dict: "Object"}
        raise said(f'Field "{name}" must be of type {names[kind]}')
    return found


async def _body(request: web.Request) -> bytes:
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise ApiError(413, "Request Entity Too Large") from None


def _object(body: bytes) -> Json:
    try:
        value = from_json(body or b"{}")
    except ValueError:
        raise bad_request("can't parse JSON object") from None
    if not isinstance(value, dict):
        raise bad_request("can't parse JSON object")
    return {name: one for name, one in value.items() if one is not None}


async def _multipart(request: web.Request) -> Json:
    try:
        form = await request.post()
    except web.HTTPRequestEntityTooLarge:
        raise ApiError(413, "Request Entity Too Large") from None
    except ValueError:
        raise bad_request("can't parse the multipart body") from None
    params: Json = {}
    size = 0
    for name, value in form.items():
        if isinstance(value, web.FileField):
            content = value.file.read()
            size += len(content)
            params[name] = Upload(value.filename, content, value.content_type)
        else:
            params[name] = value
    if size > UPLOAD_MAX:
        raise ApiError(413, "Request Entity Too Large")
    for name, value in list(params.items()):
        if isinstance(value, str) and value.startswith("attach://"):
            params[name] = params.get(value.removeprefix("attach://"), "")
    return params
