"""`postroom tool`: any one of the builder's tools, JSON in and JSON out, for scripts."""

from __future__ import annotations

import json as json_
import sys
from typing import Annotated

import typer
from pydantic import JsonValue

from channels.errors import PostroomError
from gateway.cli.output import print_json
from gateway.cli.support import use
from gateway.logs import redact


class JsonInvalid(PostroomError):
    """The arguments are not a JSON object."""

    code = "json_invalid"


def tool(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool.")] = "",
    json: Annotated[str, typer.Option(metavar="JSON", help="Its arguments, or - for standard input.")] = "{}",
    list_: Annotated[bool, typer.Option("--list", help="Print names, schemas and annotations.")] = False,
) -> None:
    """Call one of the builder's tools and print its result as JSON. An error is JSON too, with exit code 1."""
    from builder_skill.tools import CATALOGUE
    from builder_skill.tools.tool import find

    if list_:
        print_json([tool.describe() for tool in CATALOGUE.values()])
        return
    try:
        find(CATALOGUE, name)
        print_json(use(name, _arguments(sys.stdin.read() if json == "-" else json)))
    except PostroomError as error:
        print_json({"error": {"code": error.code, "message": redact(error.message), "fix": redact(error.fix)}})
        raise typer.Exit(1) from error


def _arguments(text: str) -> dict[str, JsonValue]:
    try:
        value = json_.loads(text)
    except (ValueError, RecursionError) as error:
        raise JsonInvalid("The arguments are not JSON.", fix='Write an object, such as {"id": "shop"}.') from error
    if not isinstance(value, dict):
        raise JsonInvalid("The arguments are not a JSON object.", fix='Write an object, such as {"id": "shop"}.')
    return value
