import json
import subprocess
import sys
from pathlib import Path

import pytest

from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import ArgumentsInvalid, ToolUnknown, find, read_input


def test_an_unknown_tool_names_the_nearest():
    with pytest.raises(ToolUnknown, match="Did you mean agent_list"):
        find(CATALOGUE, "agents_list")


def test_an_unknown_argument_is_named_without_its_value():
    with pytest.raises(ArgumentsInvalid) as caught:
        read_input(CATALOGUE["agent_list"], {"token": "123:secret"})
    assert "token" in str(caught.value)
    assert "123:secret" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"\ud800": 1}])
def test_what_json_or_utf_8_can_not_hold_is_refused(value):
    with pytest.raises(ArgumentsInvalid, match="not JSON"):
        read_input(CATALOGUE["agent_create"], {"id": "a", "description": "b", "channelDefaults": {"c": [value]}})


@pytest.mark.parametrize("tool", CATALOGUE.values(), ids=CATALOGUE)
def test_every_tool_says_what_it_takes_and_does(tool):
    told = tool.describe()
    assert told["description"]
    assert told["inputSchema"]["type"] == told["outputSchema"]["type"] == "object"
    assert told["inputSchema"]["additionalProperties"] is False
    assert told["annotations"]["readOnlyHint"] == (tool.effect == "read")


def _postroom(home: Path, *arguments: str, stdin: str = "") -> tuple[int, object]:
    done = subprocess.run(
        [sys.executable, "-c", "from gateway.cli import main; main()", "tool", *arguments],
        env={"POSTROOM_HOME": str(home), "PYTHONPATH": ":".join(p for p in sys.path if p)},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_the_command_calls_a_tool_from_its_options_and_from_standard_input(tmp_path):
    code, listed = _postroom(tmp_path, "agent_list")
    assert code == 0
    assert {"id", "label", "description", "entrySkill", "status", "source"} == set(listed["agents"][0])
    assert _postroom(tmp_path, "agent_list", "--json", "-", stdin="{}") == (code, listed)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["agent_list", "--json", "{"], "json_invalid"),
        (["agent_list", "--json", "[]"], "json_invalid"),
        (["agent_list", "--json", '{"x": 1}'], "arguments_invalid"),
        (["nothing"], "tool_unknown"),
    ],
)
def test_an_error_is_json_on_standard_output_and_exit_one(tmp_path, arguments, code):
    exit_code, answer = _postroom(tmp_path, *arguments)
    assert exit_code == 1
    assert answer["error"]["code"] == code
    assert set(answer["error"]) == {"code", "message", "fix"}
