"""The description of the HTTP API."""

from __future__ import annotations

import json

import schemathesis

from builder_skill.tools import CATALOGUE
from gateway.api import MAX_BODY, STATUS, openapi
from gateway.http import MAX_BODY as ANY_BODY


def test_it_is_valid_openapi_with_an_operation_for_each_tool() -> None:
    told = openapi()
    schemathesis.openapi.from_dict(told).validate()
    assert list(told["paths"]) == [f"/api/tools/{name}" for name in CATALOGUE]


def test_it_stands_by_itself() -> None:
    told = json.dumps(openapi())
    assert "$defs" not in told
    assert set(json.loads(told)["components"]["schemas"]) == {"Error"}


def test_it_tells_every_status_that_a_tool_answers_with() -> None:
    (first, *_) = openapi()["paths"].values()
    told = {int(status) for status in first["post"]["responses"]}
    assert {*STATUS.values(), 200, 400, 413, 422} - {405} == told, "another method is no operation"


def test_a_body_is_only_needed_where_an_argument_is() -> None:
    paths = openapi()["paths"]
    assert not paths["/api/tools/agent_list"]["post"]["requestBody"]["required"]
    assert paths["/api/tools/agent_create"]["post"]["requestBody"]["required"]


def test_its_limit_is_below_the_gateways() -> None:
    assert MAX_BODY < ANY_BODY
