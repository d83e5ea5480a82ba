"""The grade: an A where there is nothing to say, and each risk by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents_runtime.registry import Registry
from gateway.grading import LETTERS, AgentPosture, Posture, grade
from gateway.ledger.sqlite import open_sqlite
from gateway.places import agent_roots
from gateway.ports import in_the_clear
from gateway.posture import gather
from gateway.settings import Settings
from gateway.vault import load_vault, new_key
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Access, Route
from routes.scope import Scope
from tests.agents_runtime.packages import write_package

SETTINGS = Settings(Path("/srv/postroom"), public_url="https://bots.example.com", retention_days=90)

SHOP = AgentPosture("shop", "user", writes_files=True, state_scope="conversation")

SAFE = Posture(
    settings=SETTINGS,
    home_open=False,
    open_files=(),
    is_root=False,
    dumps_core=False,
    key_from_env=True,
    older_keys=0,
    model_urls=("https://models.example.com/v1", "http://127.0.0.1:11434/v1"),
    agents={"shop": SHOP},
    connections=(Connection("bot", "telegram", settings={"base_url": "https://proxy.example.com/bot"}),),
    routes=(Route("r1", "bot", "shop"), Route("r2", "bot", "builder", access=Access("owner"))),
)


def test_nothing_to_say_is_an_a():
    assert (grade(SAFE).letter, grade(SAFE).risks) == ("A", ())


def setting(**fields: Any) -> dict[str, Any]:
    return {"settings": replace(SETTINGS, **fields)}


def agent(**fields: Any) -> dict[str, Any]:
    return {"agents": {"shop": replace(SHOP, **fields)}}


DATABASE = "postgresql://postroom:x@db.example.com/postroom"

RISKS: list[tuple[dict[str, Any], str, str]] = [
    ({"open_files": ("key",)}, "file_open", "critical"),
    ({"open_files": ("ledger.db",)}, "file_open", "high"),
    ({"home_open": True}, "home_open", "high"),
    ({"is_root": True}, "root", "medium"),
    ({"dumps_core": True}, "core_dumps", "low"),
    ({"key_from_env": False}, "key_beside_data", "low"),
    ({"older_keys": 1}, "older_keys", "low"),
    (setting(retention_days=0), "kept_for_good", "low"),
    (setting(public_url="http://bots.example.com"), "public_url_clear", "high"),
    (setting(database_url=DATABASE), "database_clear", "high"),
    (setting(database_url=f"{DATABASE}?sslmode=require"), "database_unchecked", "low"),
    ({"model_urls": ("http://models.example.com",)}, "model_clear", "high"),
    (
        {"connections": (Connection("bot", "telegram", settings={"base_url": "http://proxy.example.com"}),)},
        "connection_clear",
        "high",
    ),
    (setting(auto_approve=frozenset({"*"})), "unasked", "high"),
    (setting(auto_approve=frozenset({"agent_create"})), "unasked", "medium"),
    ({"routes": (Route("r2", "bot", "builder", access=Access("pairing")),)}, "builder_open", "critical"),
    (agent(secret_in="README.md"), "secret_in_package", "critical"),
    (agent(source="project"), "others_agent", "medium"),
    (agent(state_scope="agent"), "shared_state_open", "medium"),
    ({"routes": (Route("r1", "bot", "shop", access=Access(mention_required=False)),)}, "answers_all", "medium"),
]


@pytest.mark.parametrize(("change", "code", "weight"), RISKS, ids=[f"{code}-{weight}" for _, code, weight in RISKS])
def test_each_risk_is_told_by_itself_and_makes_the_grade(change: dict[str, Any], code: str, weight: Any):
    found = grade(replace(SAFE, **change))
    assert [(risk.code, risk.weight) for risk in found.risks] == [(code, weight)]
    assert found.letter == LETTERS[weight]
    assert found.risks[0].fix


def test_what_is_checked_or_closed_is_no_risk():
    closed = Access("allowlist", frozenset({"7"}), mention_required=False)
    fine: list[dict[str, Any]] = [
        setting(database_url=f"{DATABASE}?sslmode=verify-full"),
        setting(database_url="postgresql://localhost/postroom"),
        setting(database_url="postgresql:///postroom?host=/run/postgresql"),
        {**agent(state_scope="agent"), "routes": (Route("r1", "bot", "shop", access=closed),)},
        {**agent(source="project"), "routes": (Route("r1", "bot", "shop", enabled=False),)},
        {"routes": (Route("r1", "bot", "shop", Scope("dm"), Access(mention_required=False)),)},
        {"routes": (Route("r2", "bot", "builder", access=Access("open"), enabled=False),)},
    ]
    assert [grade(replace(SAFE, **change)).risks for change in fine] == [()] * len(fine)


def test_the_worst_makes_the_grade_and_comes_first():
    found = grade(replace(SAFE, is_root=True, open_files=("access-token",), dumps_core=True))
    assert (found.letter, [risk.weight for risk in found.risks]) == ("F", ["critical", "medium", "low"])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", False),
        ("https://a.example", False),
        ("http://a.example", True),
        ("http://localhost:1", False),
        ("http://[::1]:1", False),
        ("http://127.8.0.1", False),
    ],
)
def test_which_addresses_are_in_the_clear(url: str, *, expected: bool):
    assert in_the_clear(url) is expected


async def test_the_posture_is_what_is_there(tmp_path: Path):
    settings = Settings(tmp_path / "home")
    settings.home.mkdir(mode=0o755)
    settings.home.chmod(0o755)
    load_vault(settings.key_path, {})
    settings.key_path.chmod(0o644)
    write_package(
        settings.agents_dir,
        "shop",
        {"README.md": "token: 123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"},
        allowedTools=["write_file?"],
        stateScope="agent",
    )
    async with open_sqlite(settings.ledger_path, worker=False) as ledger:
        await ledger.put_connection(Connection("bot", "telegram"))
        routes = (Route("r1", "bot", "shop"), Route("r2", "bot", "nobody"))
        await ledger.change_routes(lambda _connections, _routes: RouteChange(routes, "tests", "deploy"))
        registry = Registry(agent_roots(settings))
        posture = await gather(settings, ledger, registry, {"OPENAI_BASE_URL": "http://models.example.com"})
        assert (posture.home_open, posture.open_files, posture.key_from_env) == (True, ("key",), False)
        assert posture.agents == {"shop": AgentPosture("shop", "user", True, "agent", "README.md")}
        assert posture.model_urls == ("http://models.example.com",)
        assert grade(posture).letter == "F"
        posture = await gather(settings, ledger, registry, {"POSTROOM_KEY": f"{new_key()} {new_key()}"})
        assert posture.key_from_env
