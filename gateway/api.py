"""The builder's tools over HTTP: `POST /api/tools/NAME`, described in `/api/openapi.json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version

import structlog
from aiohttp import web
from pydantic import JsonValue

from builder_skill.gate import Gate
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import AnyBuilderTool, ArgumentsInvalid, ToolUnknown, find
from channels.errors import PostroomError
from gateway.access_token import shows_token
from gateway.logs import redact

log = structlog.get_logger()

MAX_BODY = 1_000_000

STATUS = {
    "approval_needed": 202,
    "unauthorised": 401,
    "agent_missing": 404,
    "route_unknown": 404,
    "not_found": 404,
    "agent_not_yours": 403,
    "approval_refused": 403,
    "method_not_allowed": 405,
    "agent_exists": 409,
    "agent_in_use": 409,
    "approval_failed": 409,
    "approval_stale": 409,
    "deploy_refused": 409,
    "preflight_stale": 409,
    "rehearsal_failed": 409,
    "revision_stale": 409,
    "rollback_refused": 409,
    "ledger_unavailable": 503,
    "access_token_invalid": 503,
}
"""HTTP statuses by error code; 400 for arguments of the wrong shape, 404 for a tool that isn't there, and 422 else."""

HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": "POST"}}
"""What HTTP wants beside a status."""


class BodyInvalid(ArgumentsInvalid):
    """The body is not a JSON object."""

    code = "json_invalid"


class Unauthorised(PostroomError):
    """The request shows no token, or another one."""

    code = "unauthorised"


class MethodWrong(PostroomError):
    """The tool is there, and is called another way."""

    code = "method_not_allowed"


class Api:
    """The handlers. Whoever calls shows the access token."""

    def __init__(self, gate: Gate, token: Callable[[], str]) -> None:
        self._gate = gate
        self._token = token

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/api/openapi.json", self._openapi)
        app.router.add_get("/api/tools", self._list)
        app.router.add_route("*", "/api/tools/{name}", self._call)

    async def _openapi(self, _request: web.Request) -> web.Response:
        return web.json_response(openapi())

    async def _list(self, request: web.Request) -> web.Response:
        try:
            self._admit(request)
        except PostroomError as error:
            return _refused(error)
        return web.json_response({"tools": [tool.describe() for tool in CATALOGUE.values()]})

    async def _call(self, request: web.Request) -> web.Response:
        try:
            self._admit(request)
            tool = find(CATALOGUE, request.match_info["name"])
            if request.method != "POST":
                raise MethodWrong(f"{tool.name} is called with POST.", fix="Send its arguments as a JSON object.")
            return web.json_response(await self._gate.call(tool, await _arguments(request)))
        except web.HTTPRequestEntityTooLarge:
            error = {"code": "body_too_large", "message": f"More than {MAX_BODY} bytes.", "fix": "Send less."}
            return web.json_response({"error": error}, status=413)
        except PostroomError as error:
            return _refused(error)
        except Exception:
            log.exception("tool_failed", tool=request.match_info["name"])
            failed = {"code": "internal", "message": "The tool failed.", "fix": "See the gateway's log."}
            return web.json_response({"error": failed}, status=500)

    def _admit(self, request: web.Request) -> None:
        if not shows_token(request.headers.get("Authorization", ""), self._token()):
            raise Unauthorised("No valid token.", fix="Show the token of: postroom mcp token")


def openapi() -> dict[str, JsonValue]:
    """The description of the API, made from the tools' own models."""
    error: dict[str, JsonValue] = {"$ref": "#/components/schemas/Error"}
    text: dict[str, JsonValue] = {"type": "string"}
    fields: dict[str, JsonValue] = {"code": text, "message": text, "fix": text}
    shape: dict[str, JsonValue] = {"type": "object", "properties": fields, "required": [*fields]}
    errors: dict[str, JsonValue] = {
        str(status): _answer(meaning, error)
        for status, meaning in {
            202: "It waits for the owner's approval; call again, unchanged, once it was given.",
            400: "The arguments are not what the tool takes.",
            401: "No valid token.",
            403: "Not allowed.",
            404: "Something it names is not there.",
            409: "It conflicts with what is there, or what was seen has changed.",
            413: "The body is too large.",
            422: "Refused, with what to do about it.",
            503: "The ledger can't write now.",
        }.items()
    }
    paths: dict[str, JsonValue] = {
        f"/api/tools/{tool.name}": {"post": _operation(tool, errors)} for tool in CATALOGUE.values()
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Postroom", "version": version("postroom"), "description": "The builder's tools."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": {"type": "object", "properties": {"error": shape}, "required": ["error"]}},
        },
    }


def _operation(tool: AnyBuilderTool, errors: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    told = tool.describe()
    arguments = _inlined(told["inputSchema"])
    needed = isinstance(arguments, dict) and bool(arguments.get("required"))
    return {
        "operationId": tool.name,
        "summary": tool.description,
        "requestBody": {"required": needed, "content": {"application/json": {"schema": arguments}}},
        "responses": {"200": _answer("Done.", _inlined(told["outputSchema"])), **errors},
    }


def _answer(meaning: str, schema: JsonValue) -> dict[str, JsonValue]:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}


def _inlined(schema: JsonValue) -> JsonValue:
    """The schema with its definitions put in place: a `$ref` into itself means nothing inside another document."""
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}

    def resolve(node: JsonValue) -> JsonValue:
        if isinstance(node, list):
            return [resolve(item) for item in node]
        if not isinstance(node, dict):
            return node
        ref = node.get("$ref")
        if isinstance(ref, str) and isinstance(definitions, dict):
            name = ref.removeprefix("#/$defs/")
            # JsonValue itself is recursive: anything is what it says.
            return {} if name == "JsonValue" else resolve(definitions[name])
        return {key: resolve(value) for key, value in node.items() if key != "$defs"}

    return resolve(schema)


async def _arguments(request: web.Request) -> dict[str, JsonValue]:
    if (request.content_length or 0) > MAX_BODY:
        raise web.HTTPRequestEntityTooLarge(max_size=MAX_BODY, actual_size=request.content_length or 0)
    body = await request.content.read(MAX_BODY + 1)
    while len(body) <= MAX_BODY and (more := await request.content.read(MAX_BODY + 1 - len(body))):
        body += more
    if len(body) > MAX_BODY:
        raise web.HTTPRequestEntityTooLarge(max_size=MAX_BODY, actual_size=len(body))
    try:
        value = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise BodyInvalid("The body is not JSON.", fix="Send an object, even an empty one.") from error
    if not isinstance(value, dict):
        raise BodyInvalid("The body is not a JSON object.", fix="Send an object, even an empty one.")
    return value


def _refused(error: PostroomError) -> web.Response:
    match error:
        case ArgumentsInvalid():
            status = 400
        case ToolUnknown():  # its code is also that of a grant that nobody provides
            status = 404
        case _:
            status = STATUS.get(error.code, 422)
    told = {"code": error.code, "message": redact(error.message), "fix": redact(error.fix)}
    return web.json_response({"error": told}, status=status, headers=HEADERS.get(status))
