"""`postroom agent create`, `read`, `write` and the others: a person's way to the tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from channels.errors import PostroomError
from gateway.cli.main import app
from tests.support.gateway import Home

Command = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command on a home of its own, which must succeed; what it printed, read as JSON where it was asked for."""
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))

    def command(*args: str, stdin: str = "") -> Any:
        result = CliRunner().invoke(app, ["agent", *args], input=stdin)
        if result.exception is not None:
            raise result.exception
        return json.loads(result.stdout) if "--json" in args else result.stdout

    return command


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input that a person sits at."""
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda _self: True, raising=False)


def manifest(run: Command, agent_id: str = "miner") -> dict[str, Any]:
    return dict(run("read", agent_id, "--json")["manifest"])


def test_all_of_a_package_can_be_said_at_once(run: Command) -> None:
    printed = run(
        *("create", "miner", "--description", "Mines.", "--label", "Ore", "--entry-skill", "dig", "--production"),
        *("--tool", "execute_skill", "--tool", "read", "--sub-skill", "sift=Sifts = parts.", "--state-file", "x.json"),
        *("--channel-default", "access=owner", "--channel-default", "limit=3"),
    )
    assert "skills/dig/SKILL.md" in printed
    assert manifest(run) == {
        "schemaVersion": 1,
        "id": "miner",
        "label": "Ore",
        "description": "Mines.",
        "entrySkill": "dig",
        "status": "production",
        "allowedTools": ["execute_skill", "read"],
        "subSkills": [{"id": "sift", "description": "Sifts = parts."}],
        "stateFiles": ["x.json"],
        "channelDefaults": {"access": "owner", "limit": 3},
    }
    assert run("validate", "miner", "--json")["valid"]


@pytest.mark.usefixtures("terminal")
def test_a_person_is_asked_for_what_is_missing(run: Command) -> None:
    run("create", stdin="miner\nMines ore.\n")
    assert (manifest(run)["id"], manifest(run)["description"]) == ("miner", "Mines ore.")


def test_a_script_is_not_asked(run: Command) -> None:
    with pytest.raises(PostroomError) as caught:
        run("create", "miner")
    assert caught.value.code == "arguments_invalid"


def test_fields_are_changed_as_text_or_json(run: Command) -> None:
    made = run("create", "miner", "--description", "Mines.", "--json")
    run("update", "miner", "label=A = B", "maxTurns=50", 'allowedTools=["read"]', "language=French")
    assert {k: manifest(run)[k] for k in ("label", "maxTurns", "allowedTools", "language")} == {
        "label": "A = B",
        "maxTurns": 50,
        "allowedTools": ["read"],
        "language": "French",
    }
    run("update", "miner", "language=null")
    assert "language" not in manifest(run)
    run("status", "miner", "disabled")
    assert manifest(run)["status"] == "disabled"
    for code, args in (
        ("field_invalid", ["label"]),
        ("arguments_invalid", ["labl=x"]),
        ("revision_stale", ["label=x", "--revision", made["revision"]]),
    ):
        with pytest.raises(PostroomError) as caught:
            run("update", "miner", *args)
        assert caught.value.code == code


def test_files_are_read_and_written(run: Command, tmp_path: Path) -> None:
    run("create", "miner", "--description", "Mines.")
    run("write", "miner", "README.md", stdin="From a pipe.\n")
    assert run("read", "miner", "README.md") == "From a pipe.\n"
    (tmp_path / "text").write_text("From a file.\n")
    done = run("write", "miner", "README.md", "--from", str(tmp_path / "text"), "--json")
    assert run("read", "miner", "README.md", "--json")["files"][0]["text"] == "From a file.\n"
    assert done["revision"] == run("read", "miner", "--json")["revision"]
    assert "skills/miner/SKILL.md" in run("read", "miner")
    with pytest.raises(PostroomError, match="no file"):
        run("read", "miner", "gone.md")


def test_to_the_trash_and_back(run: Command) -> None:
    run("create", "miner", "--description", "Mines.")
    assert run("delete", "miner", "--json")["trashed"].startswith("miner.")
    with pytest.raises(PostroomError, match="no agent"):
        run("read", "miner")
    run("restore", "miner")
    assert manifest(run)["id"] == "miner"
    assert run("diff", "miner", "--json")["deployedRevision"] is None


def test_an_invalid_package_exits_1(run: Command, tmp_path: Path) -> None:
    run("create", "miner", "--description", "Mines.")
    (tmp_path / "home/agents/miner/skills/miner/SKILL.md").write_text("")
    with pytest.raises(SystemExit):
        run("validate", "miner")


async def test_deploying_from_either_group_is_the_same(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", {"SHOP_TOKEN": "123456:AAEhBOweik6ad9r_xyz"})
    await home.ok("connection", "add", "telegram", "--id", "shop", "--token-env", "SHOP_TOKEN")
    await home.ok("agent", "create", "desk", "--description", "Answers.", "--production")
    done = await home.json("agent", "deploy", "desk", "--connection", "shop", "--scope", "dm")
    assert (done["route"]["agentId"], done["live"]) == ("desk", True)
    dry = await home.json("route", "deploy", "--connection", "shop", "--agent", "desk", "--scope", "dm", "--dry-run")
    assert (dry["route"]["id"], dry["live"]) == (done["route"]["id"], False)
