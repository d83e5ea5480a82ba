"""`plan`, `apply` and `export` as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.gateway import Home

FILE = """\
agents: [./mine]
connections:
  shop:
    channel: telegram
    secrets: {bot_token: {env: SHOP_TOKEN}}
routes:
  - {connection: shop, agent: scout, access: owner}
"""

TOKEN = "123456:AAEhBOweik6ad9r_xyz"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", {"SHOP_TOKEN": TOKEN})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "scout.md").write_text("---\nname: scout\ndescription: Finds.\n---\nLook.\n")
    path = tmp_path / "postroom.yaml"
    path.write_text(FILE)
    return path


async def test_from_a_file_to_live_and_back_to_the_same_file(home: Home, file: Path, tmp_path: Path) -> None:
    planned = json.loads(await home.ok("plan", str(file), "--json"))
    assert planned["ok"]
    assert [s["what"] for s in planned["steps"]] == ["connection shop (telegram)", "route shop-scout"]
    code, _, err = await home.run("apply", str(file))
    assert code == 1
    assert "not_confirmed" in err
    assert await home.json("route", "list") == []

    out = await home.ok("apply", str(file), "--fingerprint", planned["fingerprint"])
    (route,) = await home.json("route", "list")
    assert (route["agentId"], route["enabled"], route["access"]) == ("scout", True, "owner")
    assert [a["source"] for a in await home.json("agent", "list") if a["id"] == "scout"] == ["project"]

    exported = tmp_path / "exported.yaml"
    exported.write_text(await home.ok("export"))
    assert "Nothing to change" in await home.ok("plan", str(exported))
    assert TOKEN not in out + exported.read_text() + json.dumps(planned)


async def test_a_file_that_stopped_being_true_is_not_applied_by_its_old_fingerprint(home: Home, file: Path) -> None:
    planned = json.loads(await home.ok("plan", str(file), "--json"))
    file.write_text(FILE.replace("access: owner", "access: open"))
    code, _, err = await home.run("apply", str(file), "--fingerprint", planned["fingerprint"])
    assert (code, "plan_stale" in err) == (1, True)
    assert await home.json("connection", "list") == []


async def test_a_blocker_changes_nothing_at_all(home: Home, file: Path) -> None:
    file.write_text(FILE.replace("agent: scout", "agent: nobody"))
    code, out, _ = await home.run("plan", str(file))
    assert (code, "agent_missing" in out) == (1, True)
    code, _, err = await home.run("apply", str(file), "--yes")
    assert (code, "apply_refused" in err) == (1, True)
    assert await home.json("connection", "list") == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("env: SHOP_TOKEN", "env: NOT_SET", "NOT_SET is not set"),
        ("env: SHOP_TOKEN", "vault: true", "the vault has no 'bot_token'"),
        ("env: SHOP_TOKEN", "file: none.txt", "none.txt can't be read"),
        ("bot_token:", "tokn:", "has no secret 'tokn'"),
        ("{bot_token: {env: SHOP_TOKEN}}", "{}", "'bot_token' is missing"),
        ("channel: telegram", "channel: telegraph", "Choose one of"),
        ("channel: telegram", "channel: telegram\n    settings: {mood: x}", "no setting 'mood'"),
    ],
)
async def test_what_a_file_refers_to_must_be_there(home: Home, file: Path, old: str, new: str, words: str) -> None:
    file.write_text(FILE.replace(old, new))
    code, _, err = await home.run("plan", str(file))
    assert code == 1
    assert words in err
